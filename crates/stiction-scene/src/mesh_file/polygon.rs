//! Polygons into triangles.
//!
//! A convex polygon is a fan. Of another one, ears are cut: a corner whose triangle turns the way
//! of the polygon and holds no other corner. The way is that of the area vector
//! $\tfrac12 \sum x_i \times x_{i+1}$.

use stiction_bodies::glamx::DVec3;

/// Most corners of a polygon that is not convex: ears take the square of their number.
const MOST_CORNERS: usize = 2000;

/// Adds the triangles of a polygon to a list.
pub(super) fn triangulate(points: &[DVec3], corners: &[u32], out: &mut Vec<[u32; 3]>) -> Result<(), String> {
    let point = |corner: u32| points[corner as usize];
    if corners.len() <= 3 {
        out.extend(<[u32; 3]>::try_from(corners));
        return Ok(());
    }
    let origin = point(corners[0]);
    let seen = |i: usize| point(corners[i % corners.len()]) - origin;
    let up: DVec3 = (1..corners.len()).map(|i| seen(i).cross(seen(i + 1))).sum();
    let turns = |a: u32, b: u32, c: u32| (point(b) - point(a)).cross(point(c) - point(b)).dot(up);
    let count = corners.len();
    let is_convex = (0..count).all(|i| turns(corners[i], corners[(i + 1) % count], corners[(i + 2) % count]) >= 0.0);
    if is_convex || up == DVec3::ZERO {
        out.extend((2..count).map(|i| [corners[0], corners[i - 1], corners[i]]));
        return Ok(());
    }
    if count > MOST_CORNERS {
        return Err(format!("a polygon of {count} corners is not convex; at most {MOST_CORNERS} are possible"));
    }
    let mut left = corners.to_vec();
    while left.len() > 3 {
        let n = left.len();
        let is_ear = |&i: &usize| {
            let [a, b, c] = [left[(i + n - 1) % n], left[i], left[(i + 1) % n]];
            let is_inside = |&x: &u32| {
                ![a, b, c].contains(&x) && turns(a, b, x) >= 0.0 && turns(b, c, x) >= 0.0 && turns(c, a, x) >= 0.0
            };
            turns(a, b, c) > 0.0 && !left.iter().any(is_inside)
        };
        // Without an ear the polygon crosses itself, and the check of the surface will say so.
        let ear = (0..n).find(is_ear).unwrap_or(0);
        out.push([left[(ear + n - 1) % n], left[ear], left[(ear + 1) % n]]);
        left.remove(ear);
    }
    out.push([left[0], left[1], left[2]]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_u_has_its_area() {
        // 3 by 2 with a notch 1 by 1 from above: area 5.
        let outline = [(0.0, 0.0), (3.0, 0.0), (3.0, 2.0), (2.0, 2.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)];
        let points: Vec<DVec3> = outline.iter().map(|&(x, y)| DVec3::new(7.0, x, y)).collect();
        let corners: Vec<u32> = (0..8).collect();
        let mut triangles = Vec::new();
        triangulate(&points, &corners, &mut triangles).unwrap();
        assert_eq!(triangles.len(), 6);
        let areas: Vec<DVec3> = triangles
            .iter()
            .map(|&[a, b, c]| {
                let [a, b, c] = [a, b, c].map(|corner| points[corner as usize]);
                0.5 * (b - a).cross(c - a)
            })
            .collect();
        assert!(areas.iter().all(|area| area.x > 0.0));
        assert!((areas.iter().map(|area| area.x).sum::<f64>() - 5.0).abs() < 1e-14);
    }
}
