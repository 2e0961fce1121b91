"""The method of `least_squares`, for functions that return residuals."""

from .method import FitEvidence, ResidualIterate, Residuals

__all__ = ["FitEvidence", "ResidualIterate", "Residuals"]
