"""A Kubernetes API server to test with, and what lives around one: kubelets and controllers.

`server.ApiServer` runs the server on a loopback port; its objects are plain JSON dictionaries.
`real.RealServer` runs a real one, where one is installed or was built.
`kubelet` and `controllers` use nothing but HTTP, so they work with any API server.
"""
