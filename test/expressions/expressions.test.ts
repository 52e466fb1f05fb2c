/** The language of conditions: what it means, what it refuses and where, and that no text makes it slow. */
import fc from 'fast-check';
import t from 'tap';
import { networkContains, parseIP, parseNetwork } from '../../src/base/ip.js';
import { compileExpression, type FieldTable } from '../../src/expressions/compile.js';

interface Subject {
  readonly host?: string;
  readonly port?: number;
  readonly tls?: boolean;
  readonly address?: string;
  readonly headers?: Readonly<Record<string, readonly string[]>>;
}

const FIELDS: FieldTable<Subject> = {
  'http.host': { type: 'text', of: ({ host }) => host },
  'tcp.dstport': { type: 'number', of: ({ port }) => port },
  ssl: { type: 'truth', of: ({ tls }) => tls },
  'ip.src': { type: 'address', of: ({ address }) => (address === undefined ? undefined : parseIP(address)) },
  'http.request.headers': { type: 'map', of: ({ headers }, key) => headers?.[key] },
  'dns.qry.name': { type: 'absent', is: 'text' },
};

const SUBJECT: Subject = {
  host: 'www.example.com',
  port: 443,
  tls: true,
  address: '192.0.2.7',
  headers: { accept: ['a', 'b'] },
};

function holds(text: string, subject: Subject = SUBJECT): boolean | string {
  const compiled = compileExpression(text, FIELDS);
  return compiled.ok ? compiled.holds(subject) : `${compiled.fault.offset}: ${compiled.fault.message}`;
}

t.test('comparisons', async (t) => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['', true],
    [' \n', true],
    ['http.host eq "www.example.com"', true],
    ['http.host == r"www.example.com"', true],
    ['http.host == r#"www.example.com"#', true],
    ['http.host ne "www.example.com"', false],
    ['http.host != "x"', true],
    ['http.host contains "example"', true],
    ['http.host in {"a" "www.example.com"}', true],
    ['http.host in {"a" "b"}', false],
    ['tcp.dstport lt 443', false],
    ['tcp.dstport <= 443 and tcp.dstport >= 443', true],
    ['tcp.dstport gt 80', true],
    ['tcp.dstport in {80 400..500}', true],
    ['tcp.dstport in {80 8000..9000}', false],
    ['ssl', true],
    ['not ssl', false],
    ['!ssl', false],
    ['ip.src == 192.0.2.7', true],
    ['ip.src in {10.0.0.0/8 192.0.2.0/28}', true],
    ['ip.src in {2001:db8::/32 192.0.2.8/29}', false],
    ['any(http.request.headers["accept"][*] == "b")', true],
    ['all(http.request.headers["accept"][*] == "b")', false],
    ['any(http.request.headers["accept"][*] in {"x" "a"})', true],
    ['http.request.headers["accept"][0] == "a"', true],
    ['http.request.headers["accept"][2] == "a"', false],
  ];
  for (const [text, expected] of cases) t.equal(holds(text), expected, text);
  t.equal(holds('ip.src in {192.0.2.0/24}', { address: '::ffff:192.0.2.7' }), true, 'an address in the form of IPv6');
  t.equal(holds('http.host == "a\\"b\\\\"', { host: 'a"b\\' }), true, 'escapes');
});

t.test('not binds closer than and, and closer than xor, xor closer than or', async (t) => {
  t.equal(holds('not ssl and ssl'), false);
  t.equal(holds('not (ssl and not ssl)'), true);
  t.equal(holds('ssl or ssl and not ssl'), true);
  t.equal(holds('ssl xor ssl and not ssl'), true);
  t.equal(holds('ssl or ssl xor ssl'), true, 'or after xor');
  t.equal(holds('(ssl or ssl) xor ssl'), false);
  t.equal(holds('ssl ^^ ssl || ssl && !ssl'), false);
});

t.test('a field without a value makes every comparison false', async (t) => {
  for (const text of [
    'http.host == ""',
    'http.host ne "x"',
    'http.host contains ""',
    'tcp.dstport ne 1',
    'ssl',
    'ip.src != 192.0.2.1',
    'any(http.request.headers["accept"][*] ne "x")',
    'all(http.request.headers["accept"][*] ne "x")',
    'http.request.headers["accept"][0] ne "x"',
    'dns.qry.name ne "x"',
  ]) {
    t.equal(holds(text, {}), false, text);
    t.equal(holds(`not ${text}`, {}), true, `not ${text}`);
  }
});

t.test('what it does not understand it refuses, with the offset', async (t) => {
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ['http.host matches "a+"', 10, /'matches' is not available/],
    ['http.host ~ "a+"', 10, /'~' is not available/],
    ['http.host wildcard "a*"', 10, /not available/],
    ['http.cookie == "a"', 0, /field 'http.cookie' is not known/],
    ['ssl and constructor', 8, /field 'constructor' is not known/],
    ['http.host', 0, /is not compared/],
    ['ssl == 1', 0, /stands alone/],
    ['http.host == 7', 13, /expected a text/],
    ['http.host lt "a"', 13, /for numbers/],
    ['tcp.dstport contains "4"', 21, /for texts/],
    ['tcp.dstport == 99999999999999999999', 15, /too large/],
    ['tcp.dstport in {9..1}', 16, /smaller/],
    ['http.host in {"a".."b"}', 19, /only numbers/],
    ['http.host in {}', 13, /one value or more/],
    ['http.host in $list', 13, /named lists/],
    ['ip.src == 192.0.2.0/24', 10, /in a list/],
    ['ip.src in {192.0.2.256}', 11, /expected an address/],
    ['ip.src in {192.0.2.0/33}', 11, /expected an address/],
    ['http.host == "a', 13, /closing quote/],
    ['http.host == "\\n"', 14, /backslash/],
    ['lower(http.host) == "a"', 0, /function 'lower' is not known/],
    ['any(http.host == "a")', 4, /need a field with \[\*\]/],
    ['http.request.headers["a"][*] == "a"', 0, /only in 'any'/],
    ['http.request.headers == "a"', 0, /needs a key/],
    ['http.request.headers["a"] == "a"', 0, /are a list/],
    ['http.host["a"][0] == "a"', 0, /has no keys/],
    ['(ssl', 4, /expected '\)', not the end/],
    ['ssl)', 3, /expected 'and'/],
    ['ssl and', 7, /expected a field, not the end/],
    ['ssl and or ssl', 8, /expected a field/],
    ['ssl ssl', 4, /expected 'and'/],
    ['ssl % 2', 4, /'%' has no meaning/],
    ['ssl 😀', 4, /'😀' has no meaning/],
  ];
  for (const [text, offset, message] of cases) {
    const compiled = compileExpression(text, FIELDS);
    t.equal(compiled.ok, false, text);
    if (compiled.ok) continue;
    t.equal(compiled.fault.offset, offset, text);
    t.match(compiled.fault.message, message, text);
  }
});

t.test('bombs are refused', async (t) => {
  const limits = { length: 1_000_000, depth: 32, nodes: 256, listValues: 512 };
  const refusal = (text: string): string => {
    const compiled = compileExpression(text, FIELDS, limits);
    return compiled.ok ? 'accepted' : compiled.fault.message;
  };
  t.match(refusal(`${'('.repeat(33)}ssl${')'.repeat(33)}`), /32 levels/);
  t.match(refusal('('.repeat(500_000)), /32 levels/);
  t.match(refusal('not '.repeat(100_000)), /32 levels/);
  t.match(refusal('!'.repeat(500_000)), /32 levels/);
  t.match(refusal(`ssl${' and ssl'.repeat(200)}`), /256 comparisons/);
  t.match(refusal(`tcp.dstport in {${'1 '.repeat(513)}}`), /512 values/);
  t.match(refusal('a'.repeat(1_000_001)), /1000000 characters/);
  t.match(refusal('1.'.repeat(400_000)), /no meaning|expected/);
  t.match(refusal('r####'.repeat(100_000)), /no meaning|expected/);
  t.equal(refusal(`${'('.repeat(32)}ssl${')'.repeat(32)}`), 'accepted');
  t.equal(refusal(`ssl${' and ssl'.repeat(127)}`), 'accepted');
});

t.test('any text is accepted or refused at an offset inside of it', async () => {
  const piece = fc.constantFrom(
    ...['http.host', 'ssl', 'ip.src', '==', 'eq', 'in', '{', '}', '(', ')', '"a"', '1', '192.0.2.1', '::/0', 'and'],
    ...['or', 'not', 'xor', 'any', '[', ']', '[*]', '..', '\\', '"', 'r#"', '$', '-', '1..2', '\0', 'é'],
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(' ')),
      ),
      (text) => {
        const compiled = compileExpression(text, FIELDS);
        if (compiled.ok) return typeof compiled.holds(SUBJECT) === 'boolean';
        return compiled.fault.offset >= 0 && compiled.fault.offset <= text.length && compiled.fault.message.length > 0;
      },
    ),
    { seed: 20261126, numRuns: 2000 },
  );
});

t.test('lists of networks contain what one of them contains', async () => {
  const address = fc.oneof(
    fc.uint8Array({ minLength: 4, maxLength: 4 }),
    // Addresses near each other, so that networks overlap.
    fc.tuple(fc.constant(10), fc.constant(0), fc.nat(3), fc.nat(255)).map((octets) => Uint8Array.from(octets)),
  );
  const text = (octets: Uint8Array): string => octets.join('.');
  const network = fc.tuple(address, fc.nat(32)).map(([octets, bits]) => `${text(octets)}/${bits}`);
  fc.assert(
    fc.property(fc.array(network, { minLength: 1, maxLength: 20 }), address, (networks, asked) => {
      const expected = networks.some((each) => networkContains(parseNetwork(each)!, asked));
      return holds(`ip.src in {${networks.join(' ')}}`, { address: text(asked) }) === expected;
    }),
    { seed: 20261126, numRuns: 1000 },
  );
});

t.test('evaluation agrees with the meaning of the operators', async () => {
  type Tree = { readonly text: string; readonly value: boolean };
  const leaf: fc.Arbitrary<Tree> = fc.boolean().map((value) => ({ text: value ? 'ssl' : 'not ssl', value }));
  const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      leaf,
      tie('tree').map(({ text, value }) => ({ text: `not (${text})`, value: !value })),
      fc.tuple(tie('tree'), fc.constantFrom('and', 'or', 'xor'), tie('tree')).map(([a, joint, b]) => ({
        text: `(${a.text}) ${joint} (${b.text})`,
        value: joint === 'and' ? a.value && b.value : joint === 'or' ? a.value || b.value : a.value !== b.value,
      })),
    ),
  }));
  fc.assert(
    fc.property(tree, ({ text, value }) => text.length > 4096 || holds(text) === value),
    { seed: 20261126, numRuns: 500 },
  );
});
