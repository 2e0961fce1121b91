"""Escapade: zeroth-order nonconvex optimisation that escapes saddle points and certifies minima."""
