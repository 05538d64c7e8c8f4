//! Polylines in pixels: thinned to what can be seen, and cut off at the edge of a panel.

/// A point of the picture, in pixels; y grows downwards.
pub(super) type Point = (f64, f64);

/// A rectangle of the picture, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Rect {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(super) fn grown(&self, by: f64) -> Rect {
        Rect { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }

    pub(super) fn contains(&self, (x, y): Point) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    pub(super) fn overlaps(&self, other: &Rect) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// Thins a polyline to what columns of pixels of this width can show.
///
/// Of the points that follow each other within one column, only the first, the last, the highest
/// and the lowest are kept, in their order. The drawn line covers the same pixels, and a spike of
/// one sample survives.
pub(super) fn thinned(line: &[Point], column_width: f64) -> Vec<Point> {
    let column = |point: &Point| (point.0 / column_width).floor() as i64;
    let mut kept = Vec::new();
    for run in line.chunk_by(|a, b| column(a) == column(b)) {
        let by_height = |a: &usize, b: &usize| run[*a].1.total_cmp(&run[*b].1);
        let (lowest, highest) = ((0..run.len()).min_by(by_height), (0..run.len()).max_by(by_height));
        let mut places: Vec<usize> = [Some(0), lowest, highest, Some(run.len() - 1)].into_iter().flatten().collect();
        places.sort_unstable();
        places.dedup();
        kept.extend(places.into_iter().map(|place| run[place]));
    }
    kept
}

/// The part of the segment from `a` to `b` inside the rectangle (Liang-Barsky).
pub(super) fn clip_segment(a: Point, b: Point, rect: &Rect) -> Option<(Point, Point)> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    let sides = [(-dx, a.0 - rect.left), (dx, rect.right - a.0), (-dy, a.1 - rect.top), (dy, rect.bottom - a.1)];
    for (outwards, distance) in sides {
        if outwards == 0.0 {
            if distance < 0.0 {
                return None;
            }
        } else if outwards < 0.0 {
            enter = enter.max(distance / outwards);
        } else {
            leave = leave.min(distance / outwards);
        }
    }
    let at = |share: f64| (a.0 + share * dx, a.1 + share * dy);
    let end = if leave == 1.0 { b } else { at(leave) };
    (enter <= leave).then(|| (if enter == 0.0 { a } else { at(enter) }, end))
}

/// The pieces of a polyline inside the rectangle.
pub(super) fn clip_polyline(points: &[Point], rect: &Rect) -> Vec<Vec<Point>> {
    if let [point] = points {
        return if rect.contains(*point) { vec![vec![*point]] } else { Vec::new() };
    }
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    let mut open = false;
    for pair in points.windows(2) {
        let Some((from, to)) = clip_segment(pair[0], pair[1], rect) else {
            open = false;
            continue;
        };
        if !open || from != pair[0] {
            pieces.push(vec![from]);
        }
        pieces.last_mut().expect("a piece is open").push(to);
        open = to == pair[1];
    }
    pieces
}

/// The part of a polygon inside the rectangle (Sutherland-Hodgman: one side after the other).
pub(super) fn clip_polygon(points: &[Point], rect: &Rect) -> Vec<Point> {
    let sides: [(bool, f64, f64); 4] =
        [(true, rect.left, 1.0), (true, rect.right, -1.0), (false, rect.top, 1.0), (false, rect.bottom, -1.0)];
    let mut polygon = points.to_vec();
    for (is_x, limit, sign) in sides {
        let depth = |p: Point| sign * (if is_x { p.0 } else { p.1 } - limit);
        let mut kept = Vec::with_capacity(polygon.len() + 4);
        for (i, &to) in polygon.iter().enumerate() {
            let from = polygon[(i + polygon.len() - 1) % polygon.len()];
            let (d_from, d_to) = (depth(from), depth(to));
            if (d_from < 0.0) != (d_to < 0.0) {
                let share = d_from / (d_from - d_to);
                kept.push((from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1)));
            }
            if d_to >= 0.0 {
                kept.push(to);
            }
        }
        polygon = kept;
    }
    polygon
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Rect = Rect { left: 0.0, top: 0.0, right: 1.0, bottom: 1.0 };

    #[test]
    fn a_spike_of_one_sample_in_a_million_survives() {
        let count = 1_000_000;
        let sample = |i: usize| {
            let x = 400.0 * i as f64 / count as f64;
            (x, if i == 777_777 { 3.0 } else { 100.0 + (x * 0.1).sin() })
        };
        let line = thinned(&(0..count).map(sample).collect::<Vec<_>>(), 0.5);
        // 800 columns with at most four samples each.
        assert!(line.len() <= 3200, "{} points are left", line.len());
        assert_eq!(line.iter().filter(|p| p.1 == 3.0).count(), 1);
        assert!(line.windows(2).all(|pair| pair[0].0 <= pair[1].0), "the order of the samples changed");
        assert_eq!(line.first(), Some(&(0.0, 100.0)));
        assert_eq!(line.last().unwrap().0, 400.0 * 999_999.0 / 1e6);
    }

    #[test]
    fn few_points_are_all_kept() {
        let line = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0)];
        assert_eq!(thinned(&line, 0.5), line);
    }

    #[test]
    fn a_line_that_leaves_and_returns_becomes_two_pieces() {
        let line = [(0.5, 0.5), (1.5, 0.5), (1.5, 0.75), (0.5, 0.75), (0.25, 0.75)];
        let pieces = clip_polyline(&line, &UNIT);
        assert_eq!(pieces, [vec![(0.5, 0.5), (1.0, 0.5)], vec![(1.0, 0.75), (0.5, 0.75), (0.25, 0.75)]]);
        assert!(clip_segment((-1.0, 0.5), (0.5, -1.0), &UNIT).is_none(), "it passes the corner outside");
        assert_eq!(clip_segment((-1.0, 0.5), (3.0, 0.5), &UNIT), Some(((0.0, 0.5), (1.0, 0.5))));
    }

    #[test]
    fn a_polygon_is_cut_at_the_edge() {
        let square = [(0.5, 0.5), (2.0, 0.5), (2.0, 2.0), (0.5, 2.0)];
        let cut = clip_polygon(&square, &UNIT);
        assert_eq!(cut.len(), 4);
        assert!([(0.5, 0.5), (1.0, 0.5), (1.0, 1.0), (0.5, 1.0)].iter().all(|corner| cut.contains(corner)), "{cut:?}");
        assert!(clip_polygon(&[(2.0, 2.0), (3.0, 2.0), (3.0, 3.0)], &UNIT).is_empty());
    }
}
