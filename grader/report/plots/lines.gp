# Values over numbers, with names beside the lines and points.
#   $labels      point, height of the text and its column, 1 if it ends there, colour, text
#   most_labels  in one column

set xrange [x_low:x_high]
set yrange [y_low:y_high]
set logscale xy 10
label_font = font_of_rows(most_labels)
if (longest > 0) { set rmargin at screen 0.941 - wide(longest, size_of_rows(most_labels)) }
paint(i) = colour(int(number($series[i], 1)))
shape(i) = int(number($series[i], 2))
line(i) = int(number($series[i], 3))
# Not by plot, which leaves out what stands beside the axes.
do for [i = 1:|$labels|] {
  row = $labels[i]
  x = number(row, 3)
  y = number(row, 4)
  tone = colour(int(number(row, 6)))
  if (number(row, 1) != x) {
    set arrow from number(row, 1), number(row, 2) to x, y nohead lc rgb "#bbbbbb" lw 1 back
  }
  words = rest(row, 7)
  if (number(row, 5) > 0) {
    set label words at x, y right offset -0.5,0 front boxed font label_font textcolor rgb tone
  } else {
    set label words at x, y left offset 0.5,0 front boxed font label_font textcolor rgb tone
  }
}
plot for [i = 1:|$series|] $points using (only($3 == i - 1 && line(i) > 0, $2)):4 with lines \
         lw line(i) == 1 ? 2.5 : 1.5 dt line(i) == 1 ? 1 : 3 lc rgb paint(i), \
     for [i = 1:|$series|] $points using (only($3 == i - 1 && shape(i) >= 0, $2)):4:5:6 \
         with yerrorbars pt symbol(max(0, shape(i))) ps 1.2 * dot lw 1.5 lc rgb paint(i)
