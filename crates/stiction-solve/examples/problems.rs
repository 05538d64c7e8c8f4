//! The problems of the folder `problems/` that follow from a formula or a seed: a line for each.
//!
//! `cargo run -p stiction-solve --example problems [FOLDER]` also writes them into a folder.

use std::fmt::Write as _;
use std::path::Path;

use stiction_solve::fclib::{self, FclibProblem};
use stiction_solve::problem_file::write_lcp;

#[path = "../tests/families/mod.rs"]
mod families;

use families::collection::{Answer, global_cones, lcps};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1);
    let folder = folder.as_deref().map(Path::new);
    for entry in lcps() {
        let answer = match &entry.answer {
            Answer::All(solutions) => format!("{} solution(s): {solutions:?}", solutions.len()),
            Answer::One(z) => format!("a solution with {} positive unknowns", z.iter().filter(|z| **z > 0.0).count()),
            Answer::None(proof) => format!("no solution, by the weights {proof:?}"),
        };
        println!("lcp/{:<24} n = {:<3} {answer}", entry.name, entry.lcp.size());
        if let Some(folder) = folder {
            let folder = folder.join("lcp").join(entry.name);
            write_lcp(&folder, &entry.lcp)?;
            if let Answer::One(z) = entry.answer {
                let mut text = format!("%%MatrixMarket matrix array real general\n{} 1\n", z.len());
                z.iter().try_for_each(|z| writeln!(text, "{z:e}"))?;
                std::fs::write(folder.join("z.mtx"), text)?;
            }
        }
    }
    for (name, problem) in global_cones() {
        println!("gfc3d/{name:<22} {} contacts, {} velocities", problem.cones().len(), problem.force().len());
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder.join("gfc3d"))?;
            let file = folder.join("gfc3d").join(format!("{name}.hdf5"));
            fclib::write(file, &FclibProblem::Global(problem), name)?;
        }
    }
    Ok(())
}
