//! Pieces that a picture is made of.

use super::poses::moments;
use super::*;

#[test]
fn rounding_gets_a_range_that_shows_it_as_zero() {
    let noise = [1e-17, -2e-17, 0.0, f64::NAN];
    assert_eq!(steady_range(noise.into_iter(), 3.0), Some((-3.0, 3.0)));
    // Nothing to compare with: a unit.
    assert_eq!(steady_range([0.0, 0.0].into_iter(), 0.0), Some((-1.0, 1.0)));
    let constant = steady_range([2.0, 2.0 + 1e-12].into_iter(), 2.0).unwrap();
    assert!((constant.0 - 1.8).abs() < 1e-9 && (constant.1 - 2.2).abs() < 1e-9, "{constant:?}");
    assert_eq!(steady_range([0.0, 1e-3].into_iter(), 1.0), None);
    assert_eq!(steady_range(std::iter::empty(), 1.0), None);
}

#[test]
fn times_are_written_with_the_digits_that_matter() {
    assert_eq!(brief(0.382_51, 1.0), "0.383");
    assert_eq!(brief(0.0, 1.0), "0");
    assert_eq!(brief(-0.0, 1.0), "0");
    assert_eq!(brief(10.0, 10.0), "10");
    assert_eq!(brief(123.4, 200.0), "123");
    assert_eq!(brief(0.000_25, 0.001), "0.00025");
    assert_eq!(brief(-1.5, 3.0), "\u{2212}1.5");
}

#[test]
fn poses_are_evenly_spaced_along_the_way_and_meet_the_impacts() {
    let times: Vec<f64> = (0..=1000).map(|i| f64::from(i) * 1e-3).collect();
    // Rest for 0.3 s, then a metre at constant speed until 0.8 s, then rest.
    let way: Vec<f64> = times.iter().map(|t| ((t - 0.3) / 0.5).clamp(0.0, 1.0)).collect();
    let chosen = moments(&times, &way, 0.01, 11, &[0.55]);
    assert_eq!((chosen[0].row, chosen.last().unwrap().until), (0, 1000));
    assert!(chosen.iter().any(|moment| moment.row == 550 && moment.is_key), "{chosen:?}");
    assert!(chosen.windows(2).all(|pair| pair[0].row < pair[1].row), "{chosen:?}");
    for pair in chosen.windows(2) {
        let distance = way[pair[1].row] - way[pair[0].row];
        assert!((0.08..0.12).contains(&distance), "{distance} in {chosen:?}");
    }
    // The first pose lasts until the motion begins, the last one since it ended.
    assert!((300..=301).contains(&chosen[0].until), "{chosen:?}");
    assert!((799..=800).contains(&chosen.last().unwrap().row), "{chosen:?}");
}

#[test]
fn a_body_at_rest_has_one_pose() {
    let times: Vec<f64> = (0..=100).map(f64::from).collect();
    let chosen = moments(&times, &vec![0.0; 101], 0.01, 14, &[]);
    assert_eq!(chosen.len(), 1);
    assert_eq!((chosen[0].row, chosen[0].until), (0, 100));
}

#[test]
fn poses_that_look_alike_are_not_all_drawn() {
    let times: Vec<f64> = (0..=100).map(f64::from).collect();
    let way: Vec<f64> = times.iter().map(|t| 0.03 * t / 100.0).collect();
    // The whole way is three times the nearest distance.
    assert_eq!(moments(&times, &way, 0.01, 14, &[]).len(), 4);
}
