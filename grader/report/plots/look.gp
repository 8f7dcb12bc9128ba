# The look of all pictures: slides of 1280 x 720 pixels with a title, a caption and quiet axes.
# Before this stand the data, behind it a template. All of them have
#   $texts    title, caption, titles of the axes
#   $rows     a name for each row; longest: the characters of the longest one, or of a label
#   $series   colour, symbol (negative: none), line (0 none, 1 thick, 2 dotted), label
#   $points   panel, place along x or row, series, value, low, high
#   x_low, x_high, y_low, y_high   of the axes, which are logarithmic

title = $texts[1]
caption = $texts[2]
x_title = $texts[3]
y_title = $texts[4]

set encoding utf8
set datafile separator "\t"
set datafile commentschars ""

# Okabe and Ito's colours, which most colour-blind readers tell apart; the pink one is darker than
# theirs, because small letters in it must be read, too. -1 is a library's, -2 a floor's, -3 ink.
array palette[7] = [0x111111, 0x2b7a3d, 0x7a5b2b, 0x0072b2, 0xd55e00, 0x009e73, 0xb3508a]
colour(i) = palette[i < 0 ? int(i) + 4 : int(i) % 4 + 4]
dash(i) = i < 0 ? 4 + i : 1
# Filled symbols first, then the same shapes empty.
symbol(i) = int(word("7 5 9 11 13 6 4 8 10 12", i % 10 + 1))
ink = "#111111"
quiet = "#333333"
pale = "#e8e8e8"

# The fields of a row, which tabs separate; the last one is all that is left.
rest(row, i) = i > 1 ? rest(row[strstrt(row, "\t") + 1:*], i - 1) : row
number(row, i) = real(word(row, i))
# gnuplot takes the text of a tic for a format.
tic(text) = strstrt(text, "%") == 0 ? text : text[1:strstrt(text, "%")] . "%" . \
    tic(text[strstrt(text, "%") + 1:])
only(condition, value) = condition ? value : NaN
nowhere = 1e30  # a tic there, and no other
min(a, b) = a < b ? a : b
max(a, b) = a > b ? a : b
# The share of the picture's width that so many characters need: gnuplot itself cannot measure.
wide(characters, size) = 0.72 * size * characters / 1280
font(size) = sprintf(",%.3g", size)
# A slide has room for 24 rows of full size.
size_of_rows(rows) = 14 * min(1, 24.0 / max(rows, 1))
font_of_rows(rows) = font(size_of_rows(rows))

set border 3 lc rgb "#888888"
set tics nomirror out textcolor rgb quiet
set format "%g"
set grid lc rgb pale lt 1
set errorbars 0.6
# What lies behind a label must not be read as a part of it.
set style textbox opaque noborder margins 0.2,0.4 fillcolor rgb "white"
set key noautotitle at screen 0.985,0.975 right top horizontal maxrows 1 \
    Left reverse samplen 1 textcolor rgb ink
set tmargin at screen 0.865
set rmargin at screen 0.981
set xlabel x_title textcolor rgb quiet
set ylabel y_title textcolor rgb quiet
set label title at screen 0.019,0.961 font ",20" textcolor rgb ink
set label caption at screen 0.019,0.919 textcolor rgb "#666666" \
    font font(13 * min(1, 0.962 / wide(max(1, strlen(caption)), 13)))
