"""Doors into other tools. Each module needs the package it is named after, and is imported by itself."""
