import t from 'tap';
import { imageSize } from '../../../src/lab/symbols/image-size.js';
import { seededRandom } from '../../support/seeded-random.js';

const svg = (attributes: string): Buffer =>
  Buffer.from(`<?xml version="1.0"?>\n<svg ${attributes}><g/></svg>`);
const png = (width: number, height: number): Buffer => {
  const bytes = Buffer.from('89504e470d0a1a0a0000000d494844520000000000000000', 'hex');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
};
const gif = Buffer.from('474946383961400130000000', 'hex');
/** An application segment and a quantisation table before the frame, as cameras write them. */
const jpeg = Buffer.from('ffd8ffe0000400ffffdb0004aabbffc0001108003200640301', 'hex');

const bmp = (head: string): Buffer => Buffer.from(`424d${'00'.repeat(12)}${head}`, 'hex');
/** The smallest pictures of each form of WebP, as browsers are tried with. */
const WEBP = {
  lossy: 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA',
  lossless: 'UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==',
  withAlpha:
    'UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==',
};

void t.test('a BMP and a WebP have it in the forms of their heads', (t) => {
  t.same(imageSize(bmp('2800000040010000f0000000')), { width: 320, height: 240 });
  t.same(imageSize(bmp('280000004001000010ffffff')), { width: 320, height: 240 }, 'from the top');
  t.same(imageSize(bmp('0c0000004001f00000000000')), { width: 320, height: 240 }, 'the oldest head');
  for (const [form, text] of Object.entries(WEBP)) {
    const bytes = Buffer.from(text, 'base64');
    t.same(imageSize(bytes), { width: 1, height: 1 }, form);
    for (let length = 0; length < 30; length++) t.equal(imageSize(bytes.subarray(0, length)), undefined);
  }
  const large = Buffer.from(WEBP.lossless, 'base64');
  large.writeUInt32LE((1023 | (767 << 14)) >>> 0, 21);
  t.same(imageSize(large), { width: 1024, height: 768 });
  const framed = Buffer.from(WEBP.withAlpha, 'base64');
  framed.writeUIntLE(1023, 24, 3);
  framed.writeUIntLE(767, 27, 3);
  t.same(imageSize(framed), { width: 1024, height: 768 });
  t.equal(imageSize(bmp('2800000000000000f0000000')), undefined, 'without a width');
  t.equal(imageSize(Buffer.from('RIFF1234WEBPVP9 '.padEnd(40))), undefined);
  t.end();
});

void t.test('the size stands in the head of each format', (t) => {
  t.same(imageSize(png(70, 45)), { width: 70, height: 45 });
  t.same(imageSize(gif), { width: 320, height: 48 });
  t.same(imageSize(jpeg), { width: 100, height: 50 });
  t.same(imageSize(svg('width="66" height="45"')), { width: 66, height: 45 });
  t.end();
});

void t.test('an SVG tells it in pixels or by its view box', (t) => {
  t.same(imageSize(svg('height="10.6px" width=" 20 "')), { width: 20, height: 11 });
  t.same(imageSize(svg("width='1' height = '2'")), { width: 1, height: 2 });
  t.same(imageSize(svg('viewBox="0 0 30 40"')), { width: 30, height: 40 });
  t.same(imageSize(svg('width="100%" height="5" viewBox="-1,-1, 30.4,40"')), { width: 30, height: 40 });
  t.same(imageSize(svg('stroke-width="9" line-height="9" width="1" height="2"')), { width: 1, height: 2 });
  t.end();
});

void t.test('an SVG tells it in its first tag, near its beginning', (t) => {
  const tag = '<svg width="3" height="4">';
  t.same(imageSize(Buffer.from(' '.repeat(60_000) + tag)), { width: 3, height: 4 });
  t.equal(imageSize(Buffer.from(' '.repeat(66_000) + tag)), undefined, 'it begins late');
  t.equal(imageSize(Buffer.from(`<svg ${' '.repeat(4096)}width="3" height="4">`)), undefined, 'it is long');
  t.equal(imageSize(Buffer.from(`<svg>${tag}`)), undefined, 'only the first is looked at');
  t.equal(imageSize(Buffer.from('<svg '.repeat(200_000))), undefined);
  t.end();
});

void t.test('a picture that does not tell its size has none', (t) => {
  const without: readonly Buffer[] = [
    Buffer.alloc(0),
    Buffer.from('no picture'),
    svg(''),
    svg('width="5"'),
    svg('width="5mm" height="5mm"'),
    svg('width="0" height="5"'),
    svg('width="-5" height="5"'),
    svg('width="1" height="100001"'),
    svg('viewBox="0 0 a b"'),
    svg('viewBox="0 0 5"'),
    png(0, 5),
    png(1, 0xffffffff),
    png(5, 5).subarray(0, 23),
    gif.subarray(0, 9),
    jpeg.subarray(0, 16),
    Buffer.from('ffd8', 'hex'),
    Buffer.from('ffd8ffe00000ffe00000ffe00000', 'hex'),
  ];
  for (const bytes of without) t.equal(imageSize(bytes), undefined, bytes.toString('latin1').slice(0, 60));
  t.end();
});

void t.test('a cut or damaged picture never fails', (t) => {
  const random = seededRandom(9);
  for (const whole of [png(70, 45), gif, jpeg, svg('width="6" height="7" viewBox="0 0 1 1"')]) {
    for (let length = 0; length <= whole.length; length++) imageSize(whole.subarray(0, length));
    for (let round = 0; round < 500; round++) {
      const damaged = Buffer.from(whole);
      damaged[Math.floor(random() * damaged.length)] = Math.floor(random() * 256);
      const size = imageSize(damaged);
      if (size !== undefined && !(size.width >= 1 && size.height >= 1)) t.fail('a size of nothing');
    }
  }
  t.pass('all were read');
  t.end();
});
