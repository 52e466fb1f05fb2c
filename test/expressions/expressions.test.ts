/** The language of conditions: what it means, what it refuses and where, and that no text makes it slow. */
import fc from 'fast-check';
import t from 'tap';
import { networkContains, parseIP, parseNetwork } from '../../src/base/ip.js';
import { compileExpression, compileText } from '../../src/expressions/compile.js';
import type { FieldTable } from '../../src/expressions/fields.js';
import { DEFAULT_LIMITS } from '../../src/expressions/limits.js';
import { spend, withinWork } from '../../src/expressions/work.js';

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

const LIMITS = { ...DEFAULT_LIMITS, calls: 64 };

function holds(text: string, subject: Subject = SUBJECT): boolean | string {
  const compiled = compileExpression(text, FIELDS, LIMITS);
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
    ['http.host wildcard "a**"', 19, /two stars/],
    ['http.host wildcard "a\\\\x"', 19, /backslash/],
    ['http.host strict "a"', 17, /'wildcard' after 'strict'/],
    ['tcp.dstport wildcard "4*"', 21, /for texts/],
    ['http.cookie == "a"', 0, /field 'http.cookie' is not known/],
    ['ssl and constructor', 8, /field 'constructor' is not known/],
    ['http.host', 0, /cannot be compared/],
    ['ssl == 1', 0, /must stand alone/],
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
    ['regex_replace(http.host, "a", "b") == "a"', 0, /'regex_replace' is not available/],
    ['constructor(http.host) == "a"', 0, /function 'constructor' is not known/],
    ['lower(ssl) == "a"', 6, /argument 1 of 'lower' must be a text, not a truth/],
    ['lower() == "a"', 0, /takes 1 arguments, not 0/],
    ['starts_with(http.host) and ssl', 0, /takes 2 arguments, not 1/],
    ['starts_with(http.host, "a") == "b"', 0, /must stand alone/],
    ['lower(http.host)', 0, /cannot be compared/],
    ['lower(http.request.headers["a"][*]) == "a"', 6, /only in 'any'/],
    ['any(lower(http.host) == "a")', 4, /need a field with \[\*\]/],
    ['url_decode(http.host, http.host) == "a"', 22, /a text in quotes/],
    ['url_decode(http.host, "x") == "a"', 22, /options r and u/],
    [`wildcard_replace(http.host, "a*", "\${2}") == "a"`, 34, /no star 2/],
    ['wildcard_replace(http.host, "a*", "$x") == "a"', 34, /before a number in braces/],
    ['wildcard_replace(http.host, "a*", "b", "i") == "a"', 39, /only the flag 's'/],
    ['true == true', 5, /expected 'and'/],
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
    const compiled = compileExpression(text, FIELDS, LIMITS);
    t.equal(compiled.ok, false, text);
    if (compiled.ok) continue;
    t.equal(compiled.fault.offset, offset, text);
    t.match(compiled.fault.message, message, text);
  }
});

t.test('functions and patterns', async (t) => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['true', true],
    ['(true)', true],
    ['not false', true],
    ['lower(http.host) == "www.example.com"', true],
    ['upper(http.host) in {"WWW.EXAMPLE.COM"}', true],
    ['starts_with(http.host, "www.") and not ends_with(http.host, ".net")', true],
    ['starts_with(lower(http.host), "www.")', true],
    ['len(http.host) == 15', true],
    ['substring(http.host, -3) == "com"', true],
    ['substring(http.host, 4, -4) == "example"', true],
    ['to_string(tcp.dstport) == "443"', true],
    ['to_string(ip.src) == "192.0.2.7"', true],
    ['concat("a", http.host, to_string(ssl)) == "awww.example.comtrue"', true],
    ['http.host wildcard "WWW.*.com"', true],
    ['http.host strict wildcard "WWW.*.com"', false],
    ['http.host wildcard "*"', true],
    ['http.host wildcard "www.*.com.*"', false],
    ['http.host wildcard "www.example.com*com"', false],
    ['http.host wildcard r"www\\*"', false],
    ['http.host wildcard "*www*example*"', true],
  ];
  for (const [text, expected] of cases) t.equal(holds(text), expected, text);
  t.equal(holds('lower(http.host) ne "x"', {}), false, 'a function of nothing has no value');
  t.equal(holds('starts_with(http.host, "")', {}), false);
  t.equal(holds('http.host wildcard "a\\\\*b"', { host: 'a*b' }), true, 'an escaped star');
});

t.test('values', async (t) => {
  const text = (expression: string, subject: Subject = SUBJECT): string | undefined => {
    const made = compileText(expression, FIELDS, LIMITS);
    return made.ok ? made.of(subject) : `${made.fault.offset}: ${made.fault.message}`;
  };
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['"a"', 'a'],
    ['http.host', 'www.example.com'],
    ['http.request.headers["accept"][1]', 'b'],
    ['http.request.headers["accept"][9]', undefined],
    ['concat("https://", http.host, "/")', 'https://www.example.com/'],
    ['concat(http.request.headers["accept"][9], "x")', 'x'],
    [`wildcard_replace(http.host, "*.example.*", "\${2}.\${1}$$")`, 'com.www$'],
    ['wildcard_replace(http.host, "*.nothing", "x")', 'www.example.com'],
    [`wildcard_replace(http.host, "WWW.*", "\${1}")`, 'example.com'],
    [`wildcard_replace(http.host, "WWW.*", "\${1}", "s")`, 'www.example.com'],
    ['ssl', '0: the value is not a text but a truth; to_string() makes a text of it'],
    ['', '0: expected a value, not the end'],
    ['http.host ssl', "10: expected the end, not 'ssl'"],
    ['concat("a" "b")', "11: expected ',', not 'b'"],
  ];
  for (const [expression, expected] of cases) t.equal(text(expression), expected, expression);
  const decoded = (host: string, options = ''): string | undefined =>
    text(`url_decode(http.host, "${options}")`, { host });
  t.equal(decoded('John%20Doe+x'), 'John Doe x');
  t.equal(decoded('%2520'), '%20');
  t.equal(decoded('%2520', 'r'), ' ');
  t.equal(decoded('%u2601%zz%C3%A9', 'u'), '\u2601%zzé');
  t.equal(text('remove_query_args(http.host, "b", "d")', { host: 'a=1&b=2&c&d' }), 'a=1&c');
  t.equal(text(`concat(${'http.host, '.repeat(40)}"")`, { host: 'x'.repeat(1000) }), undefined, 'too long');
});

t.test('the shortest texts match, as by trying all', async (t) => {
  const unit = fc.constantFrom('a', 'b');
  const patterns = fc
    .array(fc.constantFrom('a', 'b', '*'), { maxLength: 8 })
    .map((all) => all.join('').replace(/\*+/g, '*'));
  fc.assert(
    fc.property(patterns, fc.string({ unit, maxLength: 12 }), (pattern, host) => {
      const wanted = new RegExp(`^${pattern.replaceAll('*', '(.*?)')}$`).exec(host);
      const stars = pattern.split('*').length - 1;
      t.equal(holds(`http.host wildcard "${pattern}"`, { host }), wanted !== null);
      const template = Array.from({ length: stars }, (_, i) => `\${${i + 1}}`).join('|');
      const made = compileText(`wildcard_replace(http.host, "${pattern}", "${template}")`, FIELDS, LIMITS);
      return made.ok && made.of({ host }) === (wanted ? wanted.slice(1).join('|') : host);
    }),
    { seed: 7 },
  );
});

t.test('bombs are refused', async (t) => {
  const limits = { length: 1_000_000, depth: 32, nodes: 256, calls: 64, listValues: 512 };
  const refusal = (text: string): string => {
    const compiled = compileExpression(text, FIELDS, limits);
    return compiled.ok ? 'accepted' : compiled.fault.message;
  };
  t.match(refusal(`${'lower('.repeat(33)}http.host${')'.repeat(33)} == "a"`), /32 levels/);
  t.match(refusal(`concat(${'"a",'.repeat(300)}"b") == "a"`), /256 comparisons/);
  t.match(refusal(`${'lower(http.host) == "a" or '.repeat(65)}ssl`), /at most 64 functions/);
  t.match(compileExpression('lower(http.host) == "a"', FIELDS), { fault: { message: /'lower' is not available/ } });
  t.match(refusal(`http.host wildcard "${'a*'.repeat(9)}"`), /8 stars/);
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

t.test('work is counted where it is limited', async (t) => {
  const account = { work: 100 };
  t.throws(() => withinWork(account, () => holds(`http.host contains "${'a'.repeat(20)}"`)), {
    message: /too long/,
  });
  t.ok(account.work < 0);
  t.equal(holds(`http.host contains "${'a'.repeat(20)}"`), false, 'nowhere else');
  t.equal(
    withinWork({ work: 10 }, () => {
      spend(10);
      return 'enough';
    }),
    'enough',
  );
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
        const compiled = compileExpression(text, FIELDS, LIMITS);
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
