/** Bodies in chunks against the example of the documentation of AWS, and everything that can be wrong with them; checksums. */
import t from 'tap';
import { Crc64Nvme, crc32c } from '../../src/s3/crc.js';
import { readChunks } from '../../src/s3/signature/chunks.js';
import { signingKey } from '../../src/s3/signature/sigv4.js';
import type { Signed } from '../../src/s3/signature/verify.js';

const scope = { date: '20130524', region: 'us-east-1' };
/** The example «PUT Object» with chunks of «Signature Calculations for the Authorization Header» (Amazon S3 API Reference). */
const signed: Signed = {
  key: signingKey('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', scope),
  payload: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  authorization: {
    ...{ accessKeyId: 'AKIAIOSFODNN7EXAMPLE', scope, signedHeaders: ['host'], timestamp: '20130524T000000Z', atMs: 0 },
    signature: '4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9',
    ...{ expires: undefined, sessionToken: undefined },
  },
};
const FIRST = 'ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648';
const SECOND = '0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497';
const LAST = 'b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9';
const EXAMPLE = [
  `10000;chunk-signature=${FIRST}\r\n${'a'.repeat(65536)}\r\n`,
  `400;chunk-signature=${SECOND}\r\n${'a'.repeat(1024)}\r\n`,
  `0;chunk-signature=${LAST}\r\n\r\n`,
].join('');

const kinds = {
  signed: { isSigned: true, hasTrailer: false },
  unsigned: { isSigned: false, hasTrailer: true },
} as const;

const atOnce = async (): Promise<void> => {};

/** What comes out, or the code of the refusal. `every`: octets that arrive at once. */
async function read(
  text: string,
  kind: keyof typeof kinds = 'signed',
  every = 1 << 16,
  turn = atOnce,
): Promise<string> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    const octets = Buffer.from(text, 'latin1');
    for (let at = 0; at < octets.length; at += every) yield octets.subarray(at, at + every);
  }
  let content = '';
  let trailer = '';
  try {
    const onTrailer = (fields: ReadonlyMap<string, string>): void => {
      trailer = [...fields].map(([name, value]) => `|${name}=${value}`).join('');
    };
    for await (const piece of readChunks(pieces(), { ...kinds[kind], signed, turn }, onTrailer)) {
      content += Buffer.from(piece).toString('latin1');
    }
    return content + trailer;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

t.test('the example of AWS, however it arrives', async (t) => {
  const content = 'a'.repeat(66560);
  for (const every of [1, 7, 1000, 65536, 1 << 20]) {
    t.ok((await read(EXAMPLE, 'signed', every)) === content, `${every} octets at once`);
  }
});

t.test('one changed octet anywhere', async (t) => {
  const at = [10, 40, 100, 30_000, 65_000, 65_660, 65_700, 66_000, EXAMPLE.length - 20];
  for (const place of at) {
    const other = EXAMPLE[place] === 'a' ? 'b' : 'a';
    const result = await read(EXAMPLE.slice(0, place) + other + EXAMPLE.slice(place + 1));
    t.match(result, /^(SignatureDoesNotMatch|IncompleteBody)$/, `octet ${place}`);
  }
  const swapped = EXAMPLE.replace(SECOND, FIRST);
  t.equal(await read(swapped), 'SignatureDoesNotMatch', 'the signature of another chunk');
  const [one, two] = [EXAMPLE.indexOf('400;'), EXAMPLE.indexOf('0;chunk-signature=b')];
  const without = EXAMPLE.slice(0, one) + EXAMPLE.slice(two);
  t.equal(await read(without), 'SignatureDoesNotMatch', 'a chunk is left out');
});

t.test('lengths that lie, and what stands behind the end', async (t) => {
  const cases: Record<string, string> = {
    empty: '',
    'no last chunk': EXAMPLE.slice(0, EXAMPLE.lastIndexOf('0;')),
    'in the middle': EXAMPLE.slice(0, 40_000),
    'octets behind the end': `${EXAMPLE}x`,
    'no signature': EXAMPLE.replace(`;chunk-signature=${FIRST}`, ''),
  };
  for (const [name, text] of Object.entries(cases)) {
    t.match(await read(text), /^(IncompleteBody|SignatureDoesNotMatch)$/, name);
  }
  t.equal(await read('3\r\nabcd\r\n0\r\n\r\n', 'unsigned'), 'IncompleteBody', 'too short a length');
  t.equal(await read('-1\r\n\r\n0\r\n\r\n', 'unsigned'), 'IncompleteBody');
  t.equal(await read('ffffffff\r\n', 'unsigned'), 'InvalidRequest', 'a chunk without end');
  t.equal(await read('x'.repeat(5000), 'unsigned'), 'IncompleteBody', 'a line without end');
});

t.test('the rest of a body that is refused is left to whoever has sent it', async (t) => {
  for (const text of ['x\r\n', '3\r\nabcd\r\n', 'abc']) {
    let isLeft = false;
    async function* pieces(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.from(text);
      } finally {
        isLeft = true;
      }
    }
    const body = readChunks(pieces(), { ...kinds.unsigned, signed, turn: atOnce }, () => {});
    const readAll = async (): Promise<void> => {
      for await (const _ of body);
    };
    await t.rejects(readAll(), { code: 'IncompleteBody' }, text);
    t.ok(isLeft, text);
  }
});

t.test('others have turns between the chunks of a body, however short these are', async (t) => {
  let turns = 0;
  const content = await read(`${'1\r\na\r\n'.repeat(100)}0\r\n\r\n`, 'unsigned', 1 << 16, async () => {
    turns++;
  });
  t.equal(content, 'a'.repeat(100));
  t.equal(turns, 3);
});

t.test('fields behind the last chunk', async (t) => {
  const body = '3\r\nabc\r\n0\r\n';
  const field = 'x-amz-checksum-crc32:NSRBwg==';
  t.equal(await read(`${body}${field}\r\n\r\n`, 'unsigned'), 'abc|x-amz-checksum-crc32=NSRBwg==');
  t.equal(await read(`${body}${field}\r\n`, 'unsigned'), 'abc|x-amz-checksum-crc32=NSRBwg==', 'without an empty line');
  t.equal(await read(`${body}${field}\r\n${field}\r\n\r\n`, 'unsigned'), 'MalformedTrailerError', 'twice');
  t.equal(await read(`${body}no field\r\n\r\n`, 'unsigned'), 'MalformedTrailerError');
  const many = Array.from({ length: 20 }, (_, i) => `x-amz-${i}:1\r\n`).join('');
  t.equal(await read(`${body}${many}\r\n`, 'unsigned'), 'MalformedTrailerError', 'too many');
  t.match(await read(`${EXAMPLE.slice(0, -2)}${field}\r\n\r\n`), 'MalformedTrailerError', 'none was announced');
});

t.test('checks of known octets', async (t) => {
  const digits = Buffer.from('123456789');
  t.equal(crc32c(digits).toString(16), 'e3069283');
  const long = Buffer.from('The quick brown fox jumps over the lazy dog, and then over it again.');
  t.equal(crc32c(long.subarray(20), crc32c(long.subarray(0, 20))), crc32c(long), 'in two parts');
  const crc64 = (...pieces: readonly Buffer[]): string => {
    const running = new Crc64Nvme();
    for (const piece of pieces) running.update(piece);
    return running.digest().toString('hex');
  };
  t.equal(crc64(digits), 'ae8b14860a799888');
  t.equal(crc64(long.subarray(0, 21), long.subarray(21)), crc64(long), 'in two parts');
});
