/** Tables of records as they are published, with what is wrong with each and what to change. */
import t, { type Test } from 'tap';
import { concatBytes } from '../../src/base/bytes.js';
import { Type } from '../../src/dns/codes.js';
import { latin1Bytes } from '../../src/dns/presentation.js';
import { CAA } from '../../src/dns/rr/caa.js';
import { createJudge } from '../../src/policy-records/judge.js';
import type { KnownNames } from '../../src/policy-records/known.js';
import { readSpf } from '../../src/policy-records/spf.js';

/** A zone as texts by name; names below example.com that are not there do not exist, and of others nothing is known. */
interface Zone {
  readonly texts?: Readonly<Record<string, readonly string[]>>;
  readonly addresses?: readonly string[];
  readonly mx?: Readonly<Record<string, number>>;
}

function known({ texts = {}, addresses = [], mx = {} }: Zone): KnownNames {
  const isOurs = (name: string): boolean => name === 'example.com' || name.endsWith('.example.com');
  return {
    texts: (name) => texts[name] ?? (isOurs(name) ? [] : undefined),
    count(name, what) {
      if (!isOurs(name)) return undefined;
      return what === 'mx' ? (mx[name] ?? 0) : Number(addresses.includes(name));
    },
  };
}

/** TXT rdata; strings of 255 octets, unless it is given in strings. */
function txt(...strings: readonly string[]): Uint8Array {
  const parts = strings.flatMap((text) => text.match(/[\s\S]{1,255}/g) ?? ['']);
  return concatBytes(...parts.map((part) => Uint8Array.of(part.length, ...latin1Bytes(part))));
}

function judge(name: string, strings: string | readonly string[], zone: Zone = {}) {
  return createJudge(known(zone))({ name, type: Type.txt, rdata: txt(...[strings].flat()) });
}

type Row = readonly [name: string, text: string | readonly string[], codes: string, zone?: Zone];

function table(t: Test, rows: readonly Row[]): void {
  for (const [name, text, codes, zone] of rows) {
    const faults = judge(name, text, zone);
    const label = `${name} ${[text].flat().join('|').slice(0, 90)}`;
    t.equal(faults.map(({ code }) => code).join(' '), codes, label);
    for (const fault of faults) {
      t.match(fault.remedy, /^[A-Z].*\.$/, `${label}: ${fault.remedy}`);
      t.notMatch(fault.text, /\.$/, fault.text);
    }
  }
}

t.test('SPF: syntax', async (t) => {
  table(t, [
    // RFC 7208 appendix A, and what large senders publish.
    ['example.com', 'v=spf1 +all', 'spf-allows-all'],
    ['example.org', 'v=spf1 a -all', ''],
    ['example.org', 'v=spf1 a:example.org -all', ''],
    ['example.org', 'v=spf1 mx -all', ''],
    ['example.org', 'v=spf1 mx mx:example.net -all', ''],
    ['example.org', 'v=spf1 mx/30 mx:example.net/30 -all', ''],
    ['example.org', 'v=spf1 a/24//64 -all', ''],
    ['example.org', 'v=spf1 ptr -all', 'spf-ptr'],
    ['example.org', 'v=spf1 ip4:192.0.2.128/28 -all', ''],
    ['example.org', 'v=spf1 ip6:2001:db8::/32 ?all', ''],
    ['example.org', 'v=spf1 mx -all exp=explain._spf.%{d}', ''],
    ['example.org', 'v=spf1 exists:%{ir}.%{l1r+-}._spf.%{d} -all', ''],
    ['example.org', 'v=spf1 redirect=_spf.example.net', ''],
    ['example.org', 'v=spf1 include:_spf.google.com ~all', ''],
    ['example.org', 'v=spf1 include:spf.protection.outlook.com -all', ''],
    ['example.org', 'V=SPF1 A:MAIL.EXAMPLE.NET -ALL', ''],
    ['example.org', 'v=spf1', 'spf-without-end'],
    ['example.org', 'v=spf1  a   -all ', ''],
    // What people write.
    ['example.org', 'v=spf1 all', 'spf-allows-all'],
    ['example.org', 'v=spf1 mx', 'spf-without-end'],
    ['example.org', 'v=spf1 ip4:1.2.3.4/33 -all', 'spf-syntax'],
    ['example.org', 'v=spf1 ip4:2001:db8::1 -all', 'spf-syntax'],
    ['example.org', 'v=spf1 ip4:mail.example.net -all', 'spf-syntax'],
    ['example.org', 'v=spf1 ip4: 192.0.2.1 -all', 'spf-syntax spf-syntax'],
    ['example.org', 'v=spf1 ipv4:192.0.2.1 -all', 'spf-syntax'],
    ['example.org', 'v=spf1 ip4=192.0.2.1 -all', 'spf-ignored-term'],
    ['example.org', 'v=spf1 include=_spf.example.net -all', 'spf-ignored-term'],
    ['example.org', 'v=spf1 inlcude:_spf.example.net -all', 'spf-syntax'],
    ['example.org', 'v=spf1 include:192.0.2.1 -all', 'spf-syntax'],
    ['example.org', 'v=spf1 include -all', 'spf-syntax'],
    ['example.org', 'v=spf1 include: -all', 'spf-syntax'],
    ['example.org', 'v=spf1 include:_spf.example.net, -all', 'spf-syntax'],
    ['example.org', 'v=spf1 a:%{x}.example.net -all', 'spf-syntax'],
    ['example.org', 'v=spf1 exists:%{i0}.example.net -all', 'spf-syntax'],
    ['example.org', 'v=spf1 a:50%.example.net -all', 'spf-syntax'],
    ['example.org', 'v=spf1 a/33 -all', 'spf-syntax'],
    ['example.org', 'v=spf1 a//129 -all', 'spf-syntax'],
    ['example.org', 'v=spf1 -all include:_spf.example.net', 'spf-behind-all'],
    ['example.org', 'v=spf1 redirect=_spf.example.net ~all', 'spf-behind-all'],
    ['example.org', 'v=spf1 redirect=a.example.net redirect=b.example.net', 'spf-syntax'],
    ['example.org', 'v=spf1 a\t-all', 'spf-syntax spf-syntax'],
    ['example.org', 'v=spf1 mx –all', 'spf-syntax spf-syntax'],
    ['example.org', 'v=spf1; mx; -all', 'spf-syntax'],
    ['example.org', 'v=spf1,mx,-all', 'spf-syntax'],
    ['example.org', 'spf1 mx -all', 'spf-syntax'],
    ['example.org', 'v=spf mx -all', 'spf-syntax'],
    ['example.org', '"v=spf1 mx -all"', 'spf-syntax'],
    ['example.org', ' v=spf1 mx -all', 'spf-syntax'],
    ['example.org', ['v=spf1 include:a.example.net', 'include:b.example.net -all'], 'spf-syntax'],
    ['example.org', ['v=spf1 include:a.example.net', ' include:b.example.net -all'], ''],
    ['example.org', ['v=spf1 include:exam', 'ple.net -all'], ''],
    ['example.org', `v=spf1 ${'ip4:192.0.2.1 '.repeat(600)}-all`, 'spf-syntax'],
    // Other texts are nobody's policy.
    ['example.org', 'spf2.0/pra mx -all', ''],
    ['example.org', 'google-site-verification=v=spf1', ''],
    ['example.org', '', ''],
  ]);
});

t.test('SPF: what receivers have to ask', async (t) => {
  const terms = (count: number): string =>
    Array.from({ length: count }, (_, i) => `include:s${i}.example.net`).join(' ');
  const [eleven] = judge('example.org', `v=spf1 ${terms(11)} -all`);
  t.equal(
    eleven?.text,
    'the SPF record of example.org takes at least 11 DNS look-ups, and receivers stop after 10 and ignore the whole record',
  );
  t.strictSame(judge('example.org', `v=spf1 ${terms(10)} -all`), []);
  const chain = {
    'a.example.com': ['v=spf1 a:h.example.com mx:h.example.com include:b.example.com -all'],
    'b.example.com': ['v=spf1 a:h.example.com mx:h.example.com include:c.example.com ?all'],
    'c.example.com': ['v=spf1 a:h.example.com a:h.example.com a:h.example.com a:h.example.com ?all'],
  };
  const zone = { texts: chain, addresses: ['h.example.com'], mx: { 'h.example.com': 1 } };
  const [exact] = judge('example.com', 'v=spf1 include:a.example.com -all', zone);
  t.match(exact?.text, /takes 11 DNS look-ups/, 'all of them are known');
  table(t, [
    ['example.com', 'v=spf1 include:none.example.com -all', 'spf-include-missing'],
    ['example.com', 'v=spf1 redirect=none.example.com', 'spf-include-missing'],
    [
      'example.com',
      'v=spf1 include:two.example.com -all',
      'spf-include-several',
      { texts: { 'two.example.com': ['v=spf1 -all', 'v=spf1 ~all'] } },
    ],
    [
      'example.com',
      'v=spf1 include:example.com -all',
      'spf-loop',
      { texts: { 'example.com': ['v=spf1 include:example.com -all'] } },
    ],
    [
      'a.example.com',
      'v=spf1 include:b.example.com -all',
      'spf-loop',
      {
        texts: {
          'b.example.com': ['v=spf1 include:a.example.com -all'],
          'a.example.com': ['v=spf1 include:b.example.com -all'],
        },
      },
    ],
    ['example.com', 'v=spf1 a:x.example.com a:y.example.com -all', ''],
    ['example.com', 'v=spf1 a:x.example.com a:y.example.com mx:z.example.com -all', 'spf-void-look-ups'],
    ['example.com', 'v=spf1 mx -all', 'spf-mx', { mx: { 'example.com': 11 } }],
    [
      'example.com',
      'v=spf1 mx -all',
      'spf-several',
      { texts: { 'example.com': ['v=spf1 mx -all', 'hello', 'v=spf1 -all'] }, mx: { 'example.com': 1 } },
    ],
    [
      'example.com',
      'v=spf1 mx -all',
      '',
      { texts: { 'example.com': ['v=spf1 mx -all', 'v=spf10'] }, mx: { 'example.com': 1 } },
    ],
  ]);
  const [obsolete] = createJudge(known({}))({ name: 'example.com', type: Type.spf, rdata: txt('v=spf1 -all') });
  t.equal(obsolete?.code, 'spf-type');
});

const RSA_1024 =
  'MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDwIRP/UC3SBsEmGqZ9ZJW3/DkMoGeLnQg1fWn7/zYtIxN2SnFCjxOCKG9v3b4jYfcTNh5ijSsq631uBItLa7od+v/RtdC2UzJ1lWT947qR+Rcac2gbto/NMqJ0fzfVjH4OuKhitdY9tf6mcwGjaNBcWToIMmPSPDdQPNUYckcQ2QIDAQAB';
const ED25519 = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=';

/** Only the length of the modulus counts. */
function rsa(bits: number): string {
  const modulus = (1n << BigInt(bits - 1)) + 1n;
  const n = Buffer.from(modulus.toString(16).padStart(bits / 4, '0'), 'hex').toString('base64url');
  return spki(n);
}

function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = concatBytes(...parts);
  const { length } = content;
  const head =
    length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 255];
  return concatBytes(Uint8Array.from(head), content);
}

function spki(n: string): string {
  const key = der(0x30, der(0x02, Uint8Array.of(0), Buffer.from(n, 'base64url')), der(0x02, Uint8Array.of(1, 0, 1)));
  const algorithm = der(0x30, Buffer.from('06092a864886f70d0101010500', 'hex'));
  return Buffer.from(der(0x30, algorithm, der(0x03, Uint8Array.of(0), key))).toString('base64');
}

t.test('DKIM', async (t) => {
  const at = 'brisbane._domainkey.example.com';
  table(t, [
    // RFC 6376 appendix C and RFC 8463 appendix A.2.
    [at, `v=DKIM1; p=${RSA_1024}`, ''],
    [at, `v=DKIM1; k=ed25519; p=${ED25519}`, ''],
    [at, `k=rsa; t=s; p=${RSA_1024}`, ''],
    [at, `v=DKIM1; k=rsa; h=sha1:sha256; s=email; p=${rsa(2048)}`, ''],
    [at, 'v=DKIM1; p=', ''],
    [at, [`v=DKIM1; k=rsa; p=${rsa(2048).slice(0, 200)}`, rsa(2048).slice(200)], ''],
    [at, `v=DKIM1; p=${RSA_1024.slice(0, 64)} ${RSA_1024.slice(64)}`, ''],
    [at, `v=DKIM1; p=${rsa(768)}`, 'dkim-key-weak'],
    [at, `v=DKIM1; p=${rsa(8192)}`, 'dkim-key-long'],
    [at, `v=DKIM1; p=${RSA_1024.slice(0, -4)}`, 'dkim-key'],
    [at, `v=DKIM1; p=${RSA_1024.slice(0, -3)}`, 'dkim-key'],
    [at, `v=DKIM1; p=${RSA_1024.slice(0, 50)}" "${RSA_1024.slice(50)}`, 'dkim-key'],
    [at, `v=DKIM1; p=-----BEGIN PUBLIC KEY-----${RSA_1024}`, 'dkim-key'],
    [at, `v=DKIM1; p=${ED25519}`, 'dkim-key'],
    [at, `v=DKIM1; k=ed25519; p=MCowBQYDK2VwAyEA${ED25519}`, 'dkim-key'],
    [at, `v=DKIM1; k=dsa; p=${RSA_1024}`, 'dkim-key'],
    [at, `v=DKIM1; h=sha1; p=${RSA_1024}`, 'dkim-hash'],
    [at, `v=DKIM1; s=tlsrpt; p=${RSA_1024}`, 'dkim-service'],
    [at, `v=DKIM1; t=y:s; p=${RSA_1024}`, 'dkim-testing'],
    [at, `v=DKIM1 k=rsa; p=${RSA_1024}`, 'dkim-syntax'],
    [at, `k=rsa; v=DKIM1; p=${RSA_1024}`, 'dkim-syntax'],
    [at, `v=DKIM1;; p=${RSA_1024}`, 'dkim-syntax'],
    [at, `v=DKIM1\\; k=rsa\\; p=${RSA_1024}`, 'dkim-syntax'],
    [at, `v=DKIM1; p=${RSA_1024}; p=${RSA_1024}`, 'dkim-syntax'],
    [at, 'v=DKIM1; k=rsa', 'dkim-syntax'],
    [at, 'MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDwIRP', 'dkim-syntax'],
    [at, `v=DKIM1; p=${RSA_1024}`, 'dkim-several', { texts: { [at]: [`v=DKIM1; p=${RSA_1024}`, 'v=DKIM1; p='] } }],
    ['example.com', `v=DKIM1; p=${RSA_1024}`, 'dkim-place'],
    ['_adsp._domainkey.example.com', 'dkim=all', ''],
    ['_domainkey.example.com', 'o=~', ''],
  ]);
});

t.test('DMARC', async (t) => {
  const at = '_dmarc.example.com';
  const consent = 'example.com._report._dmarc.reports.test';
  table(t, [
    // RFC 7489 appendix B.
    [at, 'v=DMARC1; p=none; rua=mailto:dmarc-feedback@example.com', ''],
    [at, 'v=DMARC1; p=none; rua=mailto:dmarc-feedback@example.com; ruf=mailto:auth-reports@example.com', ''],
    [
      at,
      'v=DMARC1; p=quarantine; rua=mailto:dmarc-feedback@example.com,mailto:tld-test@thirdparty.example.net!10m; pct=25',
      '',
    ],
    [at, 'v=DMARC1;p=reject;sp=none;adkim=s;aspf=r;fo=1:d;ri=86400;', ''],
    [at, 'v=DMARC1; p=reject; np=reject; psd=n; t=y', ''],
    [at, 'v=DMARC1', 'dmarc-policy'],
    [at, 'v=DMARC1; p=block', 'dmarc-policy'],
    [at, 'v=DMARC1; p=reject; sp=monitor', 'dmarc-policy'],
    [at, 'p=none; v=DMARC1', 'dmarc-syntax'],
    [at, 'v=dmarc1; p=none', 'dmarc-syntax'],
    [at, 'V=DMARC1; p=none', 'dmarc-syntax'],
    [at, 'DMARC1; p=none', 'dmarc-syntax'],
    [at, 'v=DMARC1, p=none', 'dmarc-syntax'],
    [at, 'v=DMARC1; p=none; pct=150; adkim=strict', 'dmarc-value dmarc-value'],
    [at, 'v=DMARC1; p=none; rua=reports@example.com', 'dmarc-reports'],
    [at, 'v=DMARC1; p=none; rua=mailto:reports', 'dmarc-reports'],
    [at, 'v=DMARC1; p=none; rua=mailto:a@example.com;mailto:b@example.com', 'dmarc-syntax'],
    [at, 'v=DMARC1; p=none; rua=mailto:a@example.com mailto:b@example.com', 'dmarc-reports'],
    [at, 'v=DMARC1; p=none', 'dmarc-several', { texts: { [at]: ['v=DMARC1; p=none', 'v=DMARC1; p=reject'] } }],
    [at, 'v=DMARC1; p=none; rua=mailto:x@reports.test', '', { texts: { [consent]: ['v=DMARC1'] } }],
    [at, 'v=DMARC1; p=none; rua=mailto:x@reports.test', 'dmarc-reports', { texts: { [consent]: [] } }],
    [at, 'v=DMARC1; p=none; rua=mailto:x@unknown.test', ''],
    [consent, 'v=DMARC1;', ''],
    [consent, 'yes', 'dmarc-syntax'],
    ['example.com', 'v=DMARC1; p=none', 'dmarc-place'],
  ]);
});

t.test('MTA-STS, TLS reports, BIMI', async (t) => {
  const host = { addresses: ['mta-sts.example.com'] };
  const sts = '_mta-sts.example.com';
  const tls = '_smtp._tls.example.com';
  const bimi = 'default._bimi.example.com';
  const dmarc = (record: string): Zone => ({ texts: { '_dmarc.example.com': [record] } });
  table(t, [
    // RFC 8461 §3.1, RFC 8460 §3.
    [sts, 'v=STSv1; id=20160831085700Z;', '', host],
    [sts, 'v=STSv1; id=20160831085700Z;', 'mta-sts'],
    ['_mta-sts.example.org', 'v=STSv1; id=20160831085700Z;', ''],
    [sts, 'v=STSv1;', 'mta-sts', host],
    [sts, 'v=STSv1; id=2026-01-01', 'mta-sts', host],
    [sts, 'v=STSV1; id=1', 'mta-sts', host],
    [sts, 'v=STSv1; id=1', 'mta-sts-several', { ...host, texts: { [sts]: ['v=STSv1; id=1', 'v=STSv1; id=2'] } }],
    [tls, 'v=TLSRPTv1; rua=mailto:reports@example.com', ''],
    [tls, 'v=TLSRPTv1; rua=https://reporting.example.com/v1/tlsrpt', ''],
    [tls, 'v=TLSRPTv1; rua=mailto:a@example.com,https://r.example.com/', ''],
    [tls, 'v=TLSRPTv1;', 'tls-reporting'],
    [tls, 'v=TLSRPTv1; rua=reports@example.com', 'tls-reporting'],
    [tls, 'v=TLSRPT1; rua=mailto:a@example.com', 'tls-reporting'],
    ['_mta-sts.example.org', 'v=TLSRPTv1; rua=mailto:a@example.com', 'mta-sts'],
    [bimi, 'v=BIMI1; l=https://example.com/logo.svg; a=https://example.com/vmc.pem', '', dmarc('v=DMARC1; p=reject')],
    [bimi, 'v=BIMI1; l=https://example.com/logo.svg', 'bimi', dmarc('v=DMARC1; p=none')],
    [bimi, 'v=BIMI1; l=https://example.com/logo.svg', 'bimi', dmarc('v=DMARC1; p=quarantine; pct=10')],
    [
      'default._bimi.news.example.com',
      'v=BIMI1; l=https://example.com/logo.svg',
      'bimi',
      dmarc('v=DMARC1; p=reject; sp=none'),
    ],
    [bimi, 'v=BIMI1; l=; a=;', '', dmarc('v=DMARC1; p=none')],
    [bimi, 'v=BIMI1; l=http://example.com/logo.svg', 'bimi', dmarc('v=DMARC1; p=reject')],
    [bimi, 'v=BIMI1; a=https://example.com/vmc.pem', 'bimi'],
    ['example.com', 'v=BIMI1; l=https://example.com/logo.svg', 'bimi-place'],
  ]);
});

t.test('CAA and null MX', async (t) => {
  const caa = (content: string): string => {
    const { rdata } = CAA.fromApi({ content }, Uint8Array.of(0));
    return createJudge(known({}))({ name: 'example.com', type: Type.caa, rdata })
      .map(({ code }) => code)
      .join(' ');
  };
  // RFC 8659 §4, RFC 8657 §4, RFC 9495.
  for (const good of [
    '0 issue "ca1.example.net"',
    '0 issue ";"',
    '0 issue ""',
    '0 issue "ca1.example.net; account=230123"',
    '0 issue "letsencrypt.org; validationmethods=dns-01; accounturi=https://acme.example/acct/1"',
    '0 issuewild "ca2.example.org"',
    '128 issue "letsencrypt.org"',
    '0 iodef "mailto:security@example.com"',
    '0 iodef "https://iodef.example.com/"',
    '0 issuemail "authority.example"',
    '0 contactemail "domainowner@example.com"',
  ]) {
    t.equal(caa(good), '', good);
  }
  for (const [bad, codes] of [
    ['0 issue "Let\'s Encrypt"', 'caa-value'],
    ['0 issue "https://letsencrypt.org"', 'caa-value'],
    ['0 issue "letsencrypt.org; validationmethods"', 'caa-value'],
    ['0 issue "letsencrypt.org, digicert.com"', 'caa-value'],
    ['0 isue "letsencrypt.org"', 'caa-tag'],
    ['128 tbs "unknown"', 'caa-tag'],
    ['1 issue "letsencrypt.org"', 'caa-flags'],
    ['0 iodef "security@example.com"', 'caa-value'],
  ] as const) {
    t.equal(caa(bad), codes, bad);
  }
  const mx = (preference: number, count: number): string =>
    createJudge(known({ mx: { 'example.com': count } }))({
      name: 'example.com',
      type: Type.mx,
      rdata: Uint8Array.of(0, preference, 0),
    })
      .map(({ remedy }) => remedy)
      .join(' ');
  t.equal(mx(0, 1), '');
  t.match(mx(10, 1), /^Write 0 \./);
  t.match(mx(0, 2), /^Remove this record or the others/);
});

t.test('hostile records are judged in one short turn', async (t) => {
  // What is counted is work, not time: how many names are looked at.
  let asked = 0;
  const terms = Array.from({ length: 12 }, (_, i) => `include:n${i}.example.com`).join(' ');
  const counted: KnownNames = {
    texts: () => {
      asked++;
      return [`v=spf1 ${terms} -all`];
    },
    count: () => {
      asked++;
      return 0;
    },
  };
  const budgeted = createJudge(counted, { names: 50, octets: 1_000_000 });
  for (let i = 0; i < 500; i++) {
    const rdata = txt(`v=spf1 ${terms} -all`);
    t.ok(budgeted({ name: `r${i}.example.com`, type: Type.txt, rdata }).length <= 5);
  }
  t.ok(asked <= 51, `${asked} names`);
  const octets = createJudge(counted, { names: 50, octets: 100 });
  asked = 0;
  octets({ name: 'example.com', type: Type.txt, rdata: txt(`v=spf1 ${terms} -all`) });
  t.ok(asked <= 2, 'behind the octets of the budget, nothing is read');
  for (const text of [
    '%{s'.repeat(20_000),
    '/'.repeat(60_000),
    ';'.repeat(60_000),
    '\\'.repeat(60_000),
    'a=b;'.repeat(15_000),
  ]) {
    for (const name of ['example.com', '_dmarc.example.com', 'k._domainkey.example.com', '_mta-sts.example.com']) {
      const faults = judge(name, name === 'example.com' ? `v=spf1 a:${text}` : text);
      t.ok(faults.length > 0 && faults.every((fault) => fault.text.length < 400), `${name} ${text.slice(0, 8)}`);
    }
  }
});

t.test('long values take no longer than their length', async (t) => {
  // With a time that grows with the square of the length, this takes minutes.
  const blanks = ' '.repeat(8000);
  const issue = concatBytes(Uint8Array.of(0, 5), latin1Bytes(`issuea${blanks}b`));
  for (let i = 0; i < 1000; i++) {
    judge('_dmarc.example.com', `v=DMARC1; p=a${blanks}b`);
    judge('s._bimi.example.com', `v=BIMI1; l=https://${'a'.repeat(8000)} b`);
    createJudge(known({}))({ name: 'example.com', type: Type.caa, rdata: issue });
  }
  t.match(judge('_dmarc.example.com', `v=DMARC1; p=a${blanks}b`), [{ code: 'dmarc-policy' }]);
  t.match(judge('s._bimi.example.com', `v=BIMI1; l=https://${'a'.repeat(8000)} b`), [{ code: 'bimi' }]);
  t.match(createJudge(known({}))({ name: 'example.com', type: Type.caa, rdata: issue }), [{ code: 'caa-value' }]);
});

t.test('no more faults of an SPF record are made than are reported', async (t) => {
  t.equal(readSpf(`v=spf1 ${'x '.repeat(4000)}`, 'example.com').faults.length, 5);
});
