"""PostgreSQL and Valkey from wheels, and the server of the demo.

In: the environment's addresses; if these are missing, real servers are started below `var/`.
Out: addresses that settings read; the servers are shared by all processes of one checkout, and stop after the last.
"""
