"""PostgreSQL and Valkey from wheels, and the server of the demo.

In: nothing but the environment's addresses; if these are missing, real servers are started below `var/`.
Out: addresses that settings read, shared by all processes of one checkout and stopped after the last of them.
"""
