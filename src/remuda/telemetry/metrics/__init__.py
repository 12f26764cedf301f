"""The metrics of a running scheduler, as Prometheus reads them (chapter 97 sections 1 to 4).

Here belongs what reads, names and prints measurements. Almost all of them are state or counts of
the core, asked for when somebody reads them; nothing is kept up to date in between.
"""
