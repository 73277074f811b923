//! The picture of a crowd that has more dots than can be drawn one by one.

/// Bytes, row by row: 0, or the number of the retry whose dot lies there.
#[derive(Debug)]
pub struct Raster {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Raster {
    /// An empty picture.
    pub fn new(width: u32, height: u32) -> Raster {
        Raster { width, height, pixels: vec![0; width as usize * height as usize] }
    }

    /// Draws the dots of a job, one of `jobs`, whose times lie between 0 and `end`. What is drawn later covers the rest.
    pub fn draw(&mut self, job: u32, jobs: u32, times: &[f64], end: f64) {
        let row = u64::from(job) * u64::from(self.height) / u64::from(jobs);
        let first = row as usize * self.width as usize;
        let Some(pixels) = self.pixels.get_mut(first..first + self.width as usize) else { return };
        let scale = if end > 0.0 { f64::from(self.width) / end } else { 0.0 };
        for (retry, at) in (1..).zip(times) {
            let x = ((at * scale) as usize).min(pixels.len() - 1);
            pixels[x] = retry;
        }
    }

    /// The picture.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }
}
