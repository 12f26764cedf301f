"""What operators look at: health, metrics, the state, over HTTP."""
