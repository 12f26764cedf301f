"""What Valgrind tells is read function by function."""

from __future__ import annotations

from tools.gate.functions import read

TOLD = """
   900 ( 9.00%)  *  ???:CPyDef_usage___charge [/x/remuda__mypyc.so]
   100 ( 1.00%)  >   Objects/dictobject.c:PyDict_GetItem (20x) [/x/libpython3.11.so]
   600 ( 6.00%)  >   ???:CPyDef_vectors___add (1,200x) [/x/remuda__mypyc.so]

   600 ( 6.00%)  *  ???:CPyDef_vectors___add [/x/remuda__mypyc.so]
    50 ( 0.50%)  >   Objects/abstract.c:PyNumber_Add (1,200x) [/x/libpython3.11.so]

 1,000 (10.00%)  *  Objects/abstract.c:PyNumber_Add [/x/libpython3.11.so]
"""


def test_a_function_costs_what_it_spends_without_other_compiled_ones() -> None:
    found = read(TOLD.splitlines())
    charge, add = found["CPyDef_usage___charge"], found["CPyDef_vectors___add"]
    assert (charge.total, charge.own(), charge.calls) == (900, 300, 0)
    assert (add.total, add.own(), add.calls) == (600, 600, 1_200)
