"""What is done when a timer runs out."""
