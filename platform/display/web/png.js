// A picture of one pixel a cell, so that a matrix of 114 × 114 is one image that is scaled without smoothing.

const CRC = Int32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
const bigEndian = (n) => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255];

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

function chunk(type, ...parts) {
  const body = joined([Array.from(type, (c) => c.charCodeAt(0)), ...parts]);
  let crc = -1;
  for (const byte of body) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return joined([bigEndian(body.length - 4), body, bigEndian(~crc)]);
}

/** Bytes in the format of deflate without being compressed: blocks of at most 65535. */
function stored(bytes) {
  const parts = [[0x78, 1]];
  for (let at = 0; at < bytes.length; at += 65535) {
    const part = bytes.subarray(at, at + 65535);
    const size = [part.length & 255, part.length >> 8];
    parts.push([+(at + 65535 >= bytes.length), ...size, ...size.map((byte) => ~byte & 255)], part);
  }
  let [a, b] = [1, 0]; // Adler-32
  for (const byte of bytes) b = (b + (a = (a + byte) % 65521)) % 65521;
  return joined([...parts, [b >> 8, b & 255, a >> 8, a & 255]]);
}

/** A PNG as a data URI: each pixel is a position in `colors`, or one past the last, which is transparent. */
function png(width, height, colors, pixels) {
  const rows = new Uint8Array(height * (width + 1)); // each after a zero: no filter
  for (let y = 0; y < height; y++) rows.set(pixels.slice(y * width, (y + 1) * width), y * (width + 1) + 1);
  const parts = [
    [0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10],
    chunk("IHDR", bigEndian(width), bigEndian(height), [8, 3, 0, 0, 0]),
    chunk("PLTE", colors.flatMap(channels), [0, 0, 0]),
    chunk("tRNS", colors.map(() => 255), [0]),
    chunk("IDAT", stored(rows)),
    chunk("IEND"),
  ];
  return `data:image/png;base64,${toBase64(joined(parts))}`;
}
