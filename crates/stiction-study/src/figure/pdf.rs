//! A drawing as a PDF document of one page: vectors, and text that can be searched and copied.
//!
//! The fonts are embedded with the glyphs that occur, as composite fonts whose codes are the numbers of
//! their glyphs; a table beside them takes the codes back to letters.

use std::collections::{BTreeMap, BTreeSet};

use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{
    CidFontType, FontFlags, LineCapStyle, LineJoinStyle, SystemInfo, TextRenderingMode, UnicodeCmap,
};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use subsetter::{GlyphRemapper, subset};
use ttf_parser::GlyphId;

use super::drawing::{Drawing, Item, Pen, Segment, Shape, Text};
use super::font::{Weight, glyphs};
use super::geometry::Point;
use super::{Colour, FigureError};

/// Points of the page per pixel, at 96 pixels to the inch.
const POINTS_PER_PIXEL: f32 = 0.75;
/// How hard streams are compressed, from 0 to 10.
const COMPRESSION: u8 = 7;
/// PDF measures fonts in thousandths of an em.
const PER_MILLE: f64 = 1000.0;
/// Thickness of upright strokes, which PDF wants and only replaced fonts use.
const STEM: f32 = 80.0;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const INFORMATION: Ref = Ref::new(5);
/// The first object of the fonts, of which each has [`FONT_OBJECTS`].
const FIRST_FONT: i32 = 6;
const FONT_OBJECTS: i32 = 5;
const SYSTEM: SystemInfo = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// A font with the glyphs that occur.
struct Subset {
    weight: Weight,
    glyphs: GlyphRemapper,
    /// By their numbers in the subset.
    letters: BTreeMap<u16, (char, GlyphId)>,
}

impl Subset {
    fn name(&self) -> &'static [u8] {
        if self.weight == Weight::Bold { b"B" } else { b"R" }
    }

    /// The code of a glyph in the document.
    fn code(&mut self, id: GlyphId, letter: char) -> u16 {
        let code = self.glyphs.remap(id.0);
        self.letters.insert(code, (letter, id));
        code
    }
}

/// The whole document.
pub(super) fn document(drawing: &Drawing) -> Result<Vec<u8>, FigureError> {
    let subset = |weight| Subset { weight, glyphs: GlyphRemapper::new(), letters: BTreeMap::new() };
    let mut fonts = Weight::ALL.map(subset);
    // Text is opaque.
    let mut opacities = BTreeSet::from([100]);
    let (width, height) = (drawing.size.0 as f32, drawing.size.1 as f32);

    let mut content = Content::new();
    let scale = POINTS_PER_PIXEL;
    content.transform([scale, 0.0, 0.0, -scale, 0.0, scale * height]);
    for item in &drawing.items {
        match item {
            Item::Shape(shape) => put_shape(&mut content, shape, &mut opacities),
            Item::Text(text) => put_text(&mut content, text, &mut fonts[text.weight as usize]),
        }
    }
    let content = compress_to_vec_zlib(content.finish().as_slice(), COMPRESSION);

    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    pdf.document_info(INFORMATION).title(TextStr(&drawing.title)).creator(TextStr("Stiction"));
    pdf.stream(CONTENT, &content).filter(Filter::FlateDecode);
    let mut page = pdf.page(PAGE);
    page.parent(PAGES).media_box(Rect::new(0.0, 0.0, scale * width, scale * height)).contents(CONTENT);
    let mut resources = page.resources();
    let mut states = resources.ext_g_states();
    for &percent in &opacities {
        let mut state = states.insert(Name(&opacity_name(percent))).start::<pdf_writer::writers::ExtGraphicsState>();
        state.non_stroking_alpha(f32::from(percent) / 100.0);
    }
    states.finish();
    let used: Vec<(i32, &Subset)> = (0..).map(|i| FIRST_FONT + FONT_OBJECTS * i).zip(&fonts).collect();
    let used: Vec<_> = used.into_iter().filter(|(_, font)| !font.letters.is_empty()).collect();
    let mut names = resources.fonts();
    for &(first, font) in &used {
        names.pair(Name(font.name()), Ref::new(first));
    }
    names.finish();
    resources.finish();
    page.finish();
    for (first, font) in used {
        put_font(&mut pdf, font, [0, 1, 2, 3, 4].map(|i| Ref::new(first + i)))?;
    }
    Ok(pdf.finish())
}

fn opacity_name(percent: u8) -> Vec<u8> {
    format!("a{percent}").into_bytes()
}

fn put_shape(content: &mut Content, shape: &Shape, opacities: &mut BTreeSet<u8>) {
    if let Some((colour, opacity)) = shape.fill {
        let percent = (100.0 * opacity).round() as u8;
        opacities.insert(percent);
        set_fill(content, colour);
        content.set_parameters(Name(&opacity_name(percent)));
        put_path(content, &shape.path);
        content.fill_nonzero();
    }
    if let Some(pen) = shape.pen {
        set_pen(content, &pen);
        put_path(content, &shape.path);
        content.stroke();
    }
}

fn set_fill(content: &mut Content, Colour(r, g, b): Colour) {
    let [r, g, b] = [r, g, b].map(|part| f32::from(part) / 255.0);
    content.set_fill_rgb(r, g, b);
}

fn set_pen(content: &mut Content, pen: &Pen) {
    let [r, g, b] = [pen.colour.0, pen.colour.1, pen.colour.2].map(|part| f32::from(part) / 255.0);
    content.set_stroke_rgb(r, g, b).set_line_width(pen.width as f32);
    let has_round_caps = pen.is_round && pen.dash.is_none();
    content.set_line_cap(if has_round_caps { LineCapStyle::RoundCap } else { LineCapStyle::ButtCap });
    content.set_line_join(if pen.is_round { LineJoinStyle::RoundJoin } else { LineJoinStyle::MiterJoin });
    content.set_dash_pattern(pen.dash.into_iter().flatten().map(|length| length as f32), 0.0);
}

fn put_path(content: &mut Content, path: &[Segment]) {
    let mut last = (0.0, 0.0);
    for segment in path {
        let third = |(x, y): Point, (a, b): Point| (x + 2.0 / 3.0 * (a - x), y + 2.0 / 3.0 * (b - y));
        let mut cubic = |a: Point, b: Point, to: Point| {
            content.cubic_to(a.0 as f32, a.1 as f32, b.0 as f32, b.1 as f32, to.0 as f32, to.1 as f32);
            to
        };
        last = match *segment {
            Segment::Move(to) => {
                content.move_to(to.0 as f32, to.1 as f32);
                to
            }
            Segment::Line(to) => {
                content.line_to(to.0 as f32, to.1 as f32);
                to
            }
            // PDF has cubic curves alone.
            Segment::Quadratic(a, to) => cubic(third(last, a), third(to, a), to),
            Segment::Cubic(a, b, to) => cubic(a, b, to),
            Segment::Close => {
                content.close_path();
                last
            }
        };
    }
}

/// A line of text, in runs of letters of the same size and height.
fn put_text(content: &mut Content, text: &Text, font: &mut Subset) {
    let (glyphs, _) = glyphs(&text.text, text.weight);
    set_fill(content, text.colour);
    content.set_parameters(Name(&opacity_name(100)));
    let halo = text.halo();
    if let Some(pen) = &halo {
        set_pen(content, pen);
    }
    for is_rim in [true, false].into_iter().filter(|is_rim| !is_rim || halo.is_some()) {
        content.begin_text();
        content.set_text_rendering_mode(if is_rim { TextRenderingMode::Stroke } else { TextRenderingMode::Fill });
        for run in glyphs.chunk_by(|a, b| (a.scale, a.rise) == (b.scale, b.rise)) {
            let (x, y) = text.place((run[0].x, run[0].rise));
            let (x, y) = (x as f32, y as f32);
            content.set_font(Name(font.name()), (text.size * run[0].scale) as f32);
            // The page is upside down in pixels; letters are not.
            content.set_text_matrix(match text.upwards {
                true => [0.0, -1.0, -1.0, 0.0, x, y],
                false => [1.0, 0.0, 0.0, -1.0, x, y],
            });
            let codes: Vec<u8> = run.iter().flat_map(|glyph| font.code(glyph.id, glyph.letter).to_be_bytes()).collect();
            content.show(Str(&codes));
        }
        content.end_text();
    }
}

/// The objects of a font: itself, its glyphs, their measures, its file, and the letters of its codes.
fn put_font(pdf: &mut Pdf, font: &Subset, ids: [Ref; 5]) -> Result<(), FigureError> {
    let [id, descendant, descriptor, file, letters] = ids;
    let (face, weight) = (font.weight.face(), font.weight);
    let per_mille = |length: f64| (PER_MILLE * length) as f32;
    // By the standard, six letters before the name tell subsets apart.
    let name: &[u8] = if weight == Weight::Bold { b"STICTB+NotoSans-Bold" } else { b"STICTR+NotoSans-Regular" };

    let mut composite = pdf.type0_font(id);
    composite.base_font(Name(name)).encoding_predefined(Name(b"Identity-H"));
    composite.descendant_font(descendant).to_unicode(letters);
    composite.finish();

    let mut glyphs = pdf.cid_font(descendant);
    glyphs.subtype(CidFontType::Type2).base_font(Name(name)).system_info(SYSTEM).font_descriptor(descriptor);
    glyphs.cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = glyphs.widths();
    for (&code, &(_, glyph)) in &font.letters {
        let width = weight.em(face.glyph_hor_advance(glyph).unwrap_or_default());
        widths.consecutive(code, [per_mille(width)]);
    }
    widths.finish();
    glyphs.finish();

    let bounds = face.global_bounding_box();
    let [left, bottom, right, top] =
        [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|at| per_mille(weight.em(at)));
    let mut measures = pdf.font_descriptor(descriptor);
    measures.name(Name(name)).flags(FontFlags::NON_SYMBOLIC).bbox(Rect::new(left, bottom, right, top));
    measures.italic_angle(0.0).stem_v(STEM).font_file2(file);
    measures.ascent(per_mille(weight.em(face.ascender()))).descent(per_mille(weight.em(face.descender())));
    measures.cap_height(per_mille(weight.em(face.capital_height().unwrap_or_default())));
    measures.finish();

    let data = subset(weight.data(), 0, &font.glyphs).map_err(|e| FigureError::Pdf(e.to_string()))?;
    let packed = compress_to_vec_zlib(&data, COMPRESSION);
    let mut stream = pdf.stream(file, &packed);
    stream.filter(Filter::FlateDecode);
    stream.pair(Name(b"Length1"), data.len() as i32);
    stream.finish();

    let mut map = UnicodeCmap::new(Name(b"Letters"), SYSTEM);
    font.letters.iter().for_each(|(&code, &(letter, _))| map.pair(code, letter));
    pdf.cmap(letters, map.finish().as_slice()).finish();
    Ok(())
}
