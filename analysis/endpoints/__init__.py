"""The models that are asked: endpoints with their keys, prices and limits, and the providers behind them.

In: messages for a model. Out: a reply, or a failure that says what to do about it, within requests and tokens a minute.
Addresses that a server must not call are refused. `owners` says who may use what belongs to no study.
"""
