//! Built-in scenes against closed forms, and against what their headers say there is to see.

use stiction_bodies::glamx::{DMat3, DVec3};
use stiction_dynamics::Simulation;
use stiction_scene::{load, parse};

fn run(scene: &str, overrides: &[&str], observe: impl FnMut(&Simulation)) -> Simulation {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    let mut simulation = load(scene, &overrides).unwrap().simulation();
    simulation.run_with(observe).unwrap();
    simulation
}

/// How far the z axis of the first body leans from the vertical, in radians.
fn tilt(q: &[f64]) -> f64 {
    let (x, y) = (q[4], q[5]);
    (1.0 - 2.0 * (x * x + y * y)).clamp(-1.0, 1.0).acos()
}

#[test]
fn a_bead_in_a_ring_is_a_pendulum() {
    // v = 2 m/s at the bottom of 1 m: amplitude 2 asin(v/(2√(g r))), period 4
    // K(sin(amplitude/2))/√(g/r) = 2.060346 s.
    let (amplitude, period) = (0.649929600112763, 2.060346217396023);
    let (mut largest, mut crossings, mut last) = (0.0f64, Vec::new(), 0.0f64);
    run("bead-in-ring", &[], |s| {
        let (x, y) = (s.state().q[0], s.state().q[1]);
        assert!((x.hypot(y) - 1.0).abs() < 1e-8, "it stays on the ring");
        largest = largest.max(x.atan2(-y));
        if last < 0.0 && x >= 0.0 {
            crossings.push(s.state().t - x / s.state().v[0]);
        }
        last = x;
    });
    assert!((largest - amplitude).abs() < 1e-6, "{largest} is not {amplitude}");
    assert!((crossings[0] - period).abs() < 1e-6, "{crossings:?} is not {period}");
}

#[test]
fn a_fast_bead_leaves_the_ring() {
    // With 5 m/s it leaves at cos θ = (2 - v²/(g r))/3 from the bottom, beyond the horizontal.
    let g = 9.81;
    let expected = (2.0 - 25.0 / g) / 3.0f64;
    let mut left = None;
    run("bead-in-ring", &["body.bead.velocity=[5.0, 0.0]", "run.end=1.0"], |s| {
        let radius = s.state().q[0].hypot(s.state().q[1]);
        if left.is_none() && radius < 1.0 - 1e-6 {
            left = Some(-s.state().q[1]);
        }
    });
    let left = left.expect("it leaves");
    // Seen once it is a micrometre off, which after leaving takes the cube root of that.
    assert!((left - expected).abs() < 0.01, "cos θ = {left}, not {expected}");
}

#[test]
fn a_marble_leaves_the_sphere_at_two_thirds() {
    let mut left = None;
    run("marble-outside-sphere", &[], |s| {
        let is_pushed = s.last_step().solution.contacts.iter().any(|impulse| impulse.normal > 0.0);
        if left.is_none() && s.state().t > 0.0 && !is_pushed {
            left = Some((s.state().t, s.state().q[2]));
        }
    });
    let (t, height) = left.expect("it leaves");
    // Known to a step of 1 ms, in which it falls by 2 mm.
    assert!((t - 0.463081).abs() < 2e-3 && (height - 2.0 / 3.0).abs() < 4e-3, "{t} {height}");
}

#[test]
fn a_sliding_ball_rolls_in_the_end() {
    // 2 v/(7 μ g), and 12 v²/(49 μ g) of way until then.
    let mut rolling = None;
    let simulation = run("slide-to-roll", &[], |s| {
        let v = &s.state().v;
        if rolling.is_none() && (v[0] - 0.1 * v[4]).abs() < 1e-12 {
            rolling = Some((s.state().t, s.state().q[0]));
        }
    });
    let (v, mu, g) = (2.0, 0.3, 9.81);
    let (t, x) = rolling.expect("it rolls");
    assert!((t - 2.0 * v / (7.0 * mu * g)).abs() < 1e-12, "{t}");
    assert!((x - 12.0 * v * v / (49.0 * mu * g)).abs() < 1e-12, "{x}");
    assert!((simulation.state().v[0] - v * 5.0 / 7.0).abs() < 1e-12, "{:?}", simulation.state());
}

#[test]
fn springing_turns_into_swinging_and_back() {
    let (mut springing, mut swinging) = (Vec::new(), Vec::new());
    let window = 2.0;
    let mut next = 0.0;
    run("elastic-pendulum", &[], |s| {
        if s.state().t >= next {
            next += window;
            springing.push(0.0f64);
            swinging.push(0.0f64);
        }
        let (x, y) = (s.state().q[0], s.state().q[1]);
        *springing.last_mut().unwrap() = springing.last().unwrap().max((y + 1.0).abs());
        *swinging.last_mut().unwrap() = swinging.last().unwrap().max(x.abs());
    });
    // Up and down at first, from side to side after 6 s, and up and down again at 12 s.
    assert!(springing[0] > 0.19 && swinging[0] < 0.15, "{springing:?} {swinging:?}");
    assert!(swinging[3] > 0.35, "{swinging:?}");
    assert!(springing[5] > 0.19 && swinging[5] < 0.2, "{springing:?} {swinging:?}");
}

/// The rattleback as Kane and Levinson have it: it rolls and never slides. Its equations of motion,
/// written in axes of the stone about the point of contact, and integrated by the classical method
/// of Runge and Kutta. Nothing here knows of contacts or rows.
struct RollingStone {
    mass: f64,
    inertia: DMat3,
    semi_axes: DVec3,
    /// From the centre of mass to the middle of the ellipsoid.
    middle: DVec3,
}

impl RollingStone {
    /// Rates of the upward direction in axes of the stone, and of the angular velocity in these
    /// axes.
    fn rates(&self, up: DVec3, w: DVec3) -> (DVec3, DVec3) {
        let (a, m) = (self.semi_axes, self.mass);
        let up_rate = up.cross(w);
        // The point of contact, from the centre of mass: ρ = middle - A² n/|A n|.
        let length = (a * up).length();
        let rho = self.middle - a * a * up / length;
        let rho_rate = -a * a * up_rate / length + a * a * up * (a * up).dot(a * up_rate) / length.powi(3);
        // v = -ω × ρ, so m v' = -m (ω' × ρ + ω × (ρ' + ω × ρ)) = F - m g n and I ω' + ω × I ω = ρ ×
        // F.
        let known = rho.cross(-m * w.cross(rho_rate + w.cross(rho)) + m * 9.81 * up) - w.cross(self.inertia * w);
        let square = DMat3::from_diagonal(DVec3::splat(rho.length_squared()));
        let outer = DMat3::from_cols(rho * rho.x, rho * rho.y, rho * rho.z);
        (up_rate, (self.inertia + m * (square - outer)).inverse() * known)
    }

    /// The spin about the vertical at the times of a grid.
    fn spins(&self, mut up: DVec3, mut w: DVec3, grid: f64, count: usize) -> Vec<f64> {
        let substeps = (grid / 2e-5).ceil();
        let h = grid / substeps;
        let mut spins = vec![up.dot(w)];
        for _ in 0..count {
            for _ in 0..substeps as usize {
                let k1 = self.rates(up, w);
                let k2 = self.rates(up + 0.5 * h * k1.0, w + 0.5 * h * k1.1);
                let k3 = self.rates(up + 0.5 * h * k2.0, w + 0.5 * h * k2.1);
                let k4 = self.rates(up + h * k3.0, w + h * k3.1);
                up = (up + h / 6.0 * (k1.0 + 2.0 * (k2.0 + k3.0) + k4.0)).normalize();
                w += h / 6.0 * (k1.1 + 2.0 * (k2.1 + k3.1) + k4.1);
            }
            spins.push(up.dot(w));
        }
        spins
    }
}

/// The upward direction in axes of the first body.
fn up(q: &[f64]) -> DVec3 {
    let (w, x, y, z) = (q[3], q[4], q[5], q[6]);
    DVec3::new(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y))
}

#[test]
fn a_rattleback_turns_back_as_one_that_rolls() {
    let inertia = DMat3::from_cols_array(&[2.0e-4, -2.0e-5, 0.0, -2.0e-5, 16.0e-4, 0.0, 0.0, 0.0, 17.0e-4]);
    let (semi_axes, middle) = (DVec3::new(0.2, 0.03, 0.02), DVec3::new(0.0, 0.0, 0.01));
    let stone = RollingStone { mass: 1.0, inertia, semi_axes, middle };
    let start = up(load("rattleback", &[]).unwrap().simulation().state().q.as_slice());
    let (grid, count) = (0.01, 800);
    let exact = stone.spins(start, -5.0 * start, grid, count);
    assert!(exact[0] == -5.0 && exact[count] > 3.5, "it turns back: {:?}", exact[count]);
    // With enough friction to hold it always.
    let errors: Vec<f64> = [2.5e-4, 1.25e-4, 6.25e-5]
        .iter()
        .map(|h| {
            let (mut worst, mut next) = (0.0f64, 0);
            let overrides = [&format!("run.step={h}"), "material.rubber.friction=100"];
            run("rattleback", &overrides, |s| {
                if s.state().t > (next as f64 - 1e-6) * grid {
                    let v = &s.state().v;
                    let spin = up(&s.state().q).dot(DVec3::new(v[3], v[4], v[5]));
                    worst = worst.max((spin - exact[next]).abs());
                    next += 1;
                }
            });
            assert_eq!(next, count + 1);
            worst
        })
        .collect();
    assert!(errors[2] < 5e-3 && errors[1] / errors[2] > 3.5 && errors[0] / errors[1] > 3.5, "{errors:?}");
}

#[test]
fn a_rattleback_turns_back_one_way_only() {
    let spin = |overrides: &[&str]| {
        let simulation = run("rattleback", overrides, |_| {});
        let v = &simulation.state().v;
        up(&simulation.state().q).dot(DVec3::new(v[3], v[4], v[5]))
    };
    let back = spin(&[]);
    assert!(back > 3.0, "{back}");
    let on = spin(&["body.stone.angular-velocity=[0.0, 0.0, 5.0]"]);
    assert!(on > 4.0, "{on}");
}

/// Jellett's integral of the tippe top on its large ball: the angular momentum along the line from
/// the point of contact to the centre of mass. Friction at the point does not change it, whatever
/// its law.
fn jellett(s: &Simulation) -> f64 {
    let (up, v) = (up(&s.state().q), &s.state().v);
    let momentum = DVec3::new(8.0e-7 * v[3], 8.0e-7 * v[4], 7.0e-7 * v[5]);
    momentum.dot(0.015 * up - 0.003 * DVec3::Z)
}

#[test]
fn a_tippe_top_turns_upside_down_by_friction() {
    // When the axis passes the horizontal, and by how much Jellett's integral changes until then.
    let inversion = |step: &str| {
        let (mut last, mut time, mut start, mut change) = ((0.0, 0.0), None, None, 0.0f64);
        let simulation = run("tippe-top", &[step], |s| {
            let (t, tilt) = (s.state().t, tilt(&s.state().q));
            let half = std::f64::consts::FRAC_PI_2;
            if time.is_none() {
                let first = *start.get_or_insert(jellett(s));
                change = change.max((jellett(s) / first - 1.0).abs());
                if tilt >= half {
                    time = Some(last.0 + (t - last.0) * (half - last.1) / (tilt - last.1));
                }
            }
            last = (t, tilt);
        });
        (simulation, time.expect("it turns over"), change)
    };
    let (_, coarse, coarse_change) = inversion("run.step=1e-3");
    let (simulation, fine, fine_change) = inversion("run.step=1e-4");
    assert!((coarse / fine - 1.0).abs() < 5e-3, "{coarse} {fine}");
    assert!(coarse_change < 1e-3 && fine_change < 1e-5, "{coarse_change:e} {fine_change:e}");
    let q = &simulation.state().q;
    assert!(tilt(q) > 2.8, "{}", tilt(q));
    // On its stem: the middle of the small ball is 5 mm high.
    let axis_height = (1.0 - 2.0 * (q[4] * q[4] + q[5] * q[5])) * 0.016;
    assert!((q[2] + axis_height - 0.005).abs() < 1e-6, "{q:?}");
    let smooth = run("tippe-top", &["material.wood.friction=0"], |_| {});
    assert!(tilt(&smooth.state().q) < 0.3, "{}", tilt(&smooth.state().q));
}

/// A ball of 0.1 m and 1 kg on the floor, with friction 0.3 and torsional friction of radius 5 mm.
const DRILLING_BALL: &str = r#"
format = 1
name = "drill"
dimension = "space"
gravity = [0.0, 0.0, -9.81]
run = { step = 0.01, end = 3.0 }
scheme = { trapezoidal = {} }
material = [{ name = "wood", friction = 0.3, torsion-radius = 0.005 }]
[[body]]
name = "floor"
kind = "static"
material = "wood"
shape = [{ half-space = { normal = [0.0, 0.0, 1.0] } }]
[[body]]
name = "ball"
material = "wood"
position = [0.0, 0.0, 0.1]
angular-velocity = [0.0, 0.0, 8.0]
mass = 1.0
inertia = [0.004, 0.004, 0.004]
shape = [{ sphere = { radius = 0.1 } }]
"#;

#[test]
fn drilling_ends_when_its_friction_says() {
    // The moment is μ m g e, so the spin ends at I ω/(μ m g e).
    let expected = 0.004 * 8.0 / (0.3 * 9.81 * 0.005);
    let mut simulation = parse(DRILLING_BALL, "drill.toml").unwrap().simulation();
    let mut stopped = None;
    simulation
        .run_with(|s| {
            if stopped.is_none() && s.state().v[5].abs() < 1e-12 {
                stopped = Some(s.state().t);
            }
        })
        .unwrap();
    assert!((stopped.expect("it stops") - expected).abs() < 1e-9, "{stopped:?} is not {expected}");
    assert!(simulation.state().v.iter().all(|v| v.abs() < 1e-12), "{:?}", simulation.state().v);
    // Without a radius it spins for ever.
    let free = DRILLING_BALL.replace(", torsion-radius = 0.005", "");
    let mut simulation = parse(&free, "free.toml").unwrap().simulation();
    simulation.run().unwrap();
    assert!((simulation.state().v[5] - 8.0).abs() < 1e-12);
}

#[test]
fn torsional_friction_needs_a_method_that_treats_it() {
    let polygon = DRILLING_BALL.replace("scheme =", "method = { phantom-inertia = {} }\nscheme =");
    let error = parse(&polygon, "polygon.toml").unwrap_err().to_string();
    assert!(error.contains("`phantom-inertia` treats Coulomb's circle only"), "{error}");
    let negative = DRILLING_BALL.replace("0.005", "-0.005");
    let error = parse(&negative, "negative.toml").unwrap_err().to_string();
    assert!(error.contains("radius of torsional friction"), "{error}");
}
