"""Carries out what resource managers and operators request."""
