"""Data files to tables of features and labels, whole or in parts of a few megabytes.

`reading` reads one file or several, and `row_input` the rows of a fit. On their way: `input_files` finds the files at
their `locations`, `byte_streams` opens them, a reader of `formats` reads them (one for each format), with
`numeric_lines` or `text_blocks` for text and `table_from_arrow` for columns, and `column_choice` decides what columns
are for. The result is a `table`; the options of all of them are `table.ReadOptions`.
"""
