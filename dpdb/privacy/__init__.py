"""The privacy room: exact shares of epsilon, discrete noise, private selection.

Only this room draws random numbers, only in `randomness`, and only through OpenDP's exact samplers. It sees integers,
never graphs, tables or SQL.
"""
