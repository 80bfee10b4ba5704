// A picture of one pixel a cell, so that a matrix of 114 × 114 is one image that is scaled without smoothing.

const CRC = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
const bigEndian = (n) => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255];

function chunk(type, data) {
  const body = Array.from(type, (c) => c.charCodeAt(0)).concat(data);
  return [...bigEndian(data.length), ...body, ...bigEndian(~body.reduce((crc, byte) => CRC[(crc ^ byte) & 255] ^ (crc >>> 8), -1))];
}

/** A PNG as a data URI: each pixel is a position in `colors`, or one past the last, which is transparent. */
function png(width, height, colors, pixels) {
  const rows = Array.from({ length: height }, (_, y) => [0, ...pixels.slice(y * width, (y + 1) * width)]).flat();
  let [a, b] = [1, 0]; // Adler-32
  for (const byte of rows) b = (b + (a = (a + byte) % 65521)) % 65521;
  let stored = [0x78, 1]; // deflate, without compressing: blocks of at most 65535 bytes
  for (let at = 0; at < rows.length; at += 65535) {
    const part = rows.slice(at, at + 65535);
    stored = stored.concat([+(at + 65535 >= rows.length), part.length & 255, part.length >> 8, ~part.length & 255, (~part.length >> 8) & 255], part);
  }
  const palette = [...colors.flatMap(channels), 0, 0, 0];
  const bytes = [0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10].concat(
    chunk("IHDR", [...bigEndian(width), ...bigEndian(height), 8, 3, 0, 0, 0]), chunk("PLTE", palette),
    chunk("tRNS", [...colors.map(() => 255), 0]), chunk("IDAT", [...stored, b >> 8, b & 255, a >> 8, a & 255]), chunk("IEND", []));
  return `data:image/png;base64,${toBase64(bytes)}`;
}
