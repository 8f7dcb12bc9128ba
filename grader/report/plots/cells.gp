# A heat map: two parameters of a sweep, the best point of each cell.
#   $columns   a name for each column
#   $cells     column and row from 0, score, text
#   best       the least score; the caption tells what it is

unset grid
set rmargin at screen 0.86  # behind it stands the scale
set xrange [-0.5:|$columns| - 0.5]
set yrange [|$rows| - 0.5:-0.5]
set xtics (nowhere)
set ytics (nowhere)
do for [i = 1:|$columns|] { set xtics add (tic($columns[i]) i - 1) }
do for [i = 1:|$rows|] { set ytics add (tic($rows[i]) i - 1) }
set logscale cb
set palette defined (0 "#fde725", 0.5 "#21918c", 1 "#440154")
plot $cells using 1:2:(0.5):(0.5):3 with boxxyerror fillstyle solid fillcolor palette, \
     $cells using 1:2:4:($3 > 2 * best ? 0xffffff : 0x111111) with labels textcolor rgb variable
