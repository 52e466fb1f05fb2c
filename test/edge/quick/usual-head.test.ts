/** Heads of responses, read and printed in one pass: as the general way reads and prints them, or left to it. */
import fc from 'fast-check';
import t from 'tap';
import { passedHeaders } from '../../../src/edge/cache/answer.js';
import { framingOf } from '../../../src/edge/http1/framing.js';
import { ResponseReader } from '../../../src/edge/http1/response-reader.js';
import { endToEndHeaders } from '../../../src/edge/proxy/headers.js';
import { UsualHead } from '../../../src/edge/quick/usual-head.js';
import { printFieldLines } from '../../../src/plain/field-lines.js';

interface Read {
  readonly status: number;
  readonly printed: string;
  readonly isReusable: boolean;
  readonly keepAliveS: number | undefined;
}

/** As the general way does; undefined if it refuses the head, or the end of the body is not told by a length. */
function readGenerally(text: string): Read | undefined {
  let read: Omit<Read, 'isReusable' | 'keepAliveS'> | undefined;
  const reader = new ResponseReader(
    {
      onInformation() {},
      onHead(status, headers) {
        const passed = passedHeaders(endToEndHeaders(headers), { result: 'DYNAMIC' });
        if (passed && framingOf(headers) === 'length') read = { status, printed: printFieldLines(passed.slice(0, -4)) };
      },
      onData() {},
      onEnd() {},
      onError() {},
    },
    false,
  );
  try {
    reader.feed(Buffer.from(text, 'latin1'));
  } catch {
    return undefined;
  }
  return read && { ...read, isReusable: reader.isReusable, keepAliveS: reader.keepAliveS };
}

function readHere(
  text: string,
  head = new UsualHead(),
  at = 10,
): (Read & { readonly end: number; readonly head: UsualHead; readonly type: string }) | undefined {
  const out = Buffer.alloc(131_072);
  const end = head.read(Buffer.from(text, 'latin1'), out, at);
  if (end === 0) return undefined;
  const { status, keepAliveS, isLast, printed } = head;
  const type = head.typeIn(out);
  return {
    status,
    keepAliveS,
    isReusable: !isLast,
    printed: out.toString('latin1', at, at + printed),
    end,
    head,
    type,
  };
}

const USUAL =
  'HTTP/1.1 200 OK\r\nServer: a/1\r\nDate: Thu, 26 Nov 2026 14:00:00 GMT\r\nContent-Type:\ttext/html \r\n' +
  'CONTENT-LENGTH: 5\r\nKeep-Alive: timeout=7\r\nX-E\xe9: \xe9\r\nx-empty:\r\nCache-Control: private\r\ncache-control: max-age=1\r\n\r\n';

t.test('what it reads in a usual head', async (t) => {
  // A name with an octet above 127 is none.
  t.equal(readHere(USUAL), undefined);
  const text = USUAL.replace('X-E\xe9', 'X-E');
  const read = readHere(`${text}hello`)!;
  t.equal(read.end, text.length);
  t.strictSame(
    { status: read.status, reusable: read.isReusable, keepAliveS: read.keepAliveS },
    { status: 200, reusable: true, keepAliveS: 7 },
  );
  const { length, hasDate, isFixed, directives } = read.head;
  const { type } = read;
  t.strictSame(
    { length, hasDate, isFixed, type, directives },
    { length: 5, hasDate: true, isFixed: false, type: 'text/html', directives: 'private,max-age=1,' },
  );
  t.match(read.printed, /^server: a\/1\r\ndate: .*\r\ncontent-type: text\/html\r\ncontent-length: 5\r\nx-e: \xe9\r\n/);
});

t.test('heads that are repeated are read as the first time', async (t) => {
  const first = 'HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 2\r\nConnection: close\r\nX-A: 1\r\n\r\n';
  const other = first.replace('X-A: 1', 'X-A: 2').replace('close', 'Keep-Alive');
  const long = first.replace('X-A: 1', `X-A: ${'1'.repeat(3000)}`);
  const texts = [
    ...[
      first,
      `${first}ok`,
      first.replace('X-A: 1', 'X-A: 2'),
      first.slice(0, -1),
      first,
      `${first.slice(0, -2)}X-B: 2\r\n\r\n`,
      first,
      other,
      `${other}ok`,
    ],
    ...[first.replace('Content-Length: 2', 'Content-Length: x'), other, first.replace('200', '204'), long, long, first],
  ];
  const head = new UsualHead();
  texts.forEach((text, i) => {
    for (const at of i % 3 === 0 ? [10, 20, 10] : [10, 10]) {
      const { head: one, ...again } = readHere(text, head, at) ?? {};
      const { head: fresh, ...once } = readHere(text, undefined, at) ?? {};
      t.strictSame(again, once, `${i} at ${at}`);
      t.strictSame([one?.length, one?.hasDate, one?.directives], [fresh?.length, fresh?.hasDate, fresh?.directives]);
    }
  });
});

t.test('what is left to the general way', async (t) => {
  const left: Readonly<Record<string, string>> = {
    'not complete': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n',
    'HTTP/1.0': 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n',
    interim: 'HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\n\r\n',
    'no such status': 'HTTP/1.1 600 x\r\nContent-Length: 2\r\n\r\n',
    'no content': 'HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n',
    'not modified': 'HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n',
    'no length': 'HTTP/1.1 200 OK\r\n\r\n',
    'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n',
    'a list of lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n',
    'a sign': 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n',
    chunks: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    both: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n',
    'a listed field': 'HTTP/1.1 200 OK\r\nConnection: x-a\r\nX-A: 1\r\nContent-Length: 2\r\n\r\n',
    'another cache': 'HTTP/1.1 200 OK\r\nCache-Status: a; hit\r\nContent-Length: 2\r\n\r\n',
    'directives for such caches': 'HTTP/1.1 200 OK\r\nCDN-Cache-Control: max-age=9\r\nContent-Length: 2\r\n\r\n',
    'a folded line': 'HTTP/1.1 200 OK\r\nX-A: 1\r\n b\r\nContent-Length: 2\r\n\r\n',
    'a blank before the colon': 'HTTP/1.1 200 OK\r\nX-A : 1\r\nContent-Length: 2\r\n\r\n',
    'LF alone': 'HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\n',
    'a control': 'HTTP/1.1 200 OK\r\nX-A: \x01\r\nContent-Length: 2\r\n\r\n',
    'too long': `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(33_000)}\r\nContent-Length: 2\r\n\r\n`,
  };
  for (const [name, text] of Object.entries(left)) t.equal(readHere(text), undefined, name);
});

t.test('whatever it reads, the general way reads likewise', async (t) => {
  const name = fc.constantFrom(
    ...['Content-Length', 'content-length', 'Connection', 'Keep-Alive', 'Transfer-Encoding', 'Date', 'Cache-Status'],
    ...['Content-Type', 'X-A', 'TE', 'Upgrade', 'Trailer', 'Proxy-Connection', 'Set-Cookie', 'Vary', 'x_y', 'bad name'],
    ...['Proxy-Authentication-Info', 'HTTP2-Settings', '__proto__', 'Cf-Ray', 'Age', 'Content-Encoding', ''],
  );
  const value = fc.oneof(
    fc.constantFrom(
      '2',
      ' 12\t',
      'close',
      'Keep-Alive',
      'timeout=5, max=9',
      'chunked',
      'x-a',
      'a, close',
      '',
      '\x00',
      '\xe9 b',
    ),
    fc.string({ maxLength: 6 }),
  );
  const line = fc.tuple(
    name,
    fc.constantFrom(':', ': ', ':\t', ' :', ''),
    value,
    fc.constantFrom('\r\n', '\r\n', '\n'),
  );
  const start = fc.constantFrom(
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200',
    'HTTP/1.1 404 \xe9',
    'HTTP/1.0 200 OK',
    'HTTP/1.1 099 x',
  );
  let both = 0;
  const property = fc.property(start, fc.array(line, { maxLength: 6 }), fc.boolean(), (first, lines, hasLength) => {
    const more = hasLength ? 'Content-Length: 2\r\n' : '';
    const text = `${first}\r\n${lines.map((parts) => parts.join('')).join('')}${more}\r\nok`;
    const here = readHere(text);
    if (!here) return;
    both++;
    const { end, head, type, ...read } = here;
    if (!text.slice(end).startsWith('ok') && head.length === 2) return;
    t.strictSame(
      { ...read, keepAliveS: 0 },
      { ...readGenerally(text.slice(0, end) + 'x'.repeat(Math.min(head.length, 9))), keepAliveS: 0 },
    );
  });
  fc.assert(property, { seed: 7, numRuns: 3000 });
  t.ok(both > 100, `${both} heads were read here`);
});
