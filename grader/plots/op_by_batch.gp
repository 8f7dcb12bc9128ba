# Op time against batch: a line for each stage, floor and library, with its name at its right end.
#   $points   a block for each line: batch, median, low, high
#   $styles   for each line: its colour, its place among the lines of this colour
#   $tics     for each batch: where, its number or nothing
#   longest   characters of the longest name

set rmargin at screen 0.941 - wide(longest, size_of_rows(|$styles|))
set xtics (nowhere)
do for [i = 1:|$tics|] { set xtics add ($tics[i][strstrt($tics[i], "\t") + 1:] real(word($tics[i], 1))) }
paint(i) = int(word($styles[i], 1))
place(i) = int(word($styles[i], 2))
plot for [i = 1:|$styles|] $points index i - 1 using 1:2 with lines lw 1.5 dt dash(paint(i)) \
         lc rgb colour(paint(i)), \
     for [i = 1:|$styles|] $points index i - 1 using 1:(paint(i) < 0 ? NaN : $2):3:4 \
         with yerrorbars pt symbol(place(i)) ps 1.3 * dot lw 1.5 lc rgb colour(paint(i))
