"""Makes the text of answers that may be very long, a little at a time."""
