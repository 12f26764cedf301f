"""The HTTP server around the routes: the listener, its checks, and the sending of answers."""
