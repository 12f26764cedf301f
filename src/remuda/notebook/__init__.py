"""Schedulers as a notebook shows them."""
