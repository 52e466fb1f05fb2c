/**
 * Difficult zone files. Each is read by us and by the readers of BIND, NSD and ldns, with the same records as the
 * result. `without` names a reader that cannot read the file or reads it differently, with the reason.
 */

export type Reader = 'bind' | 'nsd' | 'ldns';

export interface ZoneFileCase {
  readonly title: string;
  /** What follows the SOA and NS of the zone `example.test.`; with `whole`, everything. Latin-1: an octet a character. */
  readonly text: string;
  readonly whole?: true;
  readonly without?: Readonly<Partial<Record<Reader, string>>>;
}

const raw = String.raw;
const GENERATE = { nsd: 'NSD has no $GENERATE', ldns: 'ldns has no $GENERATE' };

export const ZONE_FILES: readonly ZoneFileCase[] = [
  // Owners (RFC 1035 §5.1).
  {
    title: 'owner carried over comments, directives and empty lines',
    text: 'a A 192.0.2.1\n; c\n\n$TTL 60\n  TXT x\n\tMX 1 a\n',
  },
  {
    title: 'owner carried over $ORIGIN stays absolute',
    text: 'a A 192.0.2.1\n$ORIGIN sub.example.test.\n  A 192.0.2.2\nb A 192.0.2.3\n',
  },
  {
    title: 'owner @ and a label that is @',
    text: raw`@ A 192.0.2.1
\@ A 192.0.2.2
`,
  },
  {
    title: 'owners like types, classes, TTLs',
    text: 'A A 192.0.2.1\nIN IN A 192.0.2.2\nTXT TXT TXT\nMX IN 5 MX 10 MX\n10 10 A 192.0.2.3\nCLASS1 A 192.0.2.4\nTYPE1 TYPE1 192.0.2.5\n',
    without: { ldns: 'takes the owner 10 for a TTL' },
  },
  { title: 'an address as owner', text: '192.0.2.7 PTR a\n' },
  {
    title: 'escaped octets in labels',
    text: raw`a\.b A 192.0.2.1
a\\b A 192.0.2.2
a\000b A 192.0.2.3
a\032b A 192.0.2.4
a\255b A 192.0.2.5
\097bc A 192.0.2.6
a\;b A 192.0.2.7
a\"b A 192.0.2.8
a\(b A 192.0.2.9
\$TTL A 192.0.2.10
`,
    without: { ldns: 'does not escape quotes and $ when it prints' },
  },
  {
    title: 'wildcards and a star that is none',
    text: raw`* A 192.0.2.1
*.a A 192.0.2.2
a.*.b A 192.0.2.3
\* TXT escaped
x* A 192.0.2.4
** A 192.0.2.5
`,
  },
  {
    title: 'underscores, hyphens at the ends, digits only',
    text: '_a._tcp SRV 0 0 1 a\n-a TXT x\nb- TXT x\n123 TXT x\n',
  },
  { title: 'label of 63 octets', text: `${'x'.repeat(63)} A 192.0.2.1\n` },
  { title: 'name of 255 octets', text: `${`${'y'.repeat(59)}.`.repeat(4).slice(0, -1)} A 192.0.2.1\n` },
  { title: 'octets above 127 in labels and strings', text: 'b\xfccher TXT "\xe9\xff"\n' },
  { title: 'letters in upper case are kept', text: 'WwW A 192.0.2.1\nAlias CNAME WWW.Example.TEST.\n' },
  // TTL and class (RFC 1035 §5.1, RFC 2308 §4).
  {
    title: 'TTL and class in both orders',
    text: 'a 60 IN A 192.0.2.1\nb IN 60 A 192.0.2.2\nc IN A 192.0.2.3\nd 60 A 192.0.2.4\n',
    without: { ldns: 'wants the TTL before the class' },
  },
  { title: 'class as number, in small letters', text: 'a class1 A 192.0.2.1\nb in A 192.0.2.2\nc iN mx 1 a\n' },
  {
    title: 'units of time',
    text: 'a 1w2d3h4m5s A 192.0.2.1\nb 1W A 192.0.2.2\nc 90M A 192.0.2.3\nd 0 A 192.0.2.4\ne 0s A 192.0.2.5\n',
  },
  { title: 'greatest TTL', text: 'a 2147483647 A 192.0.2.1\n' },
  {
    title: '$TTL for all that follow',
    text: 'a A 192.0.2.1\n$TTL 1d\nb A 192.0.2.2\nc 7 A 192.0.2.3\nd A 192.0.2.4\n$ttl 0\ne A 192.0.2.5\n',
    without: { ldns: 'knows directives in upper case only' },
  },
  {
    title: 'SOA over lines, with units and comments',
    whole: true,
    text: '$TTL 1h\n@ IN SOA ns.example.test. host\\.master ( ; c ( "\n 4294967295 ; serial\n 1h ; refresh\n 15m 1w ) 1m\n NS ns\nns A 192.0.2.1\n',
  },
  {
    title: 'SOA with a TTL of its own',
    whole: true,
    text: '$TTL 300\n@ 7 IN SOA ns h 0 1 2 3 4\n@ NS ns\nns 9 A 192.0.2.1\nx A 192.0.2.2\n',
  },
  { title: 'records before the SOA', whole: true, text: '$TTL 300\nns A 192.0.2.1\n@ NS ns\n@ SOA ns h 1 2 3 4 5\n' },
  // Directives.
  {
    title: '$ORIGIN relative, absolute, the root',
    text: '$ORIGIN sub\na A 192.0.2.1\n$ORIGIN x.sub.example.test.\nb A 192.0.2.2\n$ORIGIN .\nc.example.test A 192.0.2.3\n$ORIGIN example.test\nd MX 1 e\n',
    without: { nsd: 'wants an absolute $ORIGIN', ldns: 'takes a relative $ORIGIN for an absolute one' },
  },
  {
    title: '$ORIGIN with escapes and a comment',
    text: raw`$ORIGIN a\.b.example.test. ; comment
x A 192.0.2.1
`,
  },
  // Lexical matters.
  { title: 'CRLF', text: 'a A 192.0.2.1\r\nb TXT "x" ; c\r\n\r\n  TXT y\r\n' },
  { title: 'no line end at the end', text: 'a A 192.0.2.1' },
  { title: 'a comment without line end', text: 'a A 192.0.2.1 ; c' },
  { title: 'comment at once behind a token', text: 'a A 192.0.2.1;c\nb TXT x;y\n' },
  { title: 'tabs and many blanks', text: 'a\t\tIN\t  A \t192.0.2.1\t \n' },
  {
    title: 'parentheses over lines, in front, behind',
    text: 'a ( A 192.0.2.1 )\nb A ( 192.0.2.2\n)\nc (\n60 ) A 192.0.2.3\nd MX (10\na)\n',
  },
  { title: 'a blank line start inside parentheses carries no owner', text: 'a TXT ( x\n y\nz )\nb A 192.0.2.1\n' },
  { title: 'empty parentheses', text: 'a A ( ) 192.0.2.1\nb ( ) A 192.0.2.2\n' },
  { title: 'comments and quotes inside parentheses', text: 'a TXT ( "x ) y" ; ) "\n "z" )\n' },
  // Strings (RFC 1035 §5.1; RFC 1464 knows more, DNS does not).
  { title: 'empty string, strings without quotes', text: 'a TXT ""\nb TXT "" "" x\nc TXT a=b c-d "e f"\n' },
  {
    title: 'escapes in strings',
    text: raw`a TXT "\"" "\\" "\065\066" "a\;b" "\200\000"
b TXT a\ b a\"b a\;c \(
`,
  },
  {
    title: 'semicolons, parentheses and @ in quotes',
    text: 'a TXT "a;b" "(c)" "@" "$TTL"\nb TXT @ $TTL\n',
    without: { nsd: 'no $ inside a text without quotes' },
  },
  {
    title: 'string of 255 octets, record of many strings',
    text: `a TXT "${'x'.repeat(255)}"\nb TXT ${'"abcdefghij" '.repeat(300)}\n`,
  },
  { title: 'strings side by side', text: 'a TXT "x""y"\n' },
  // Record data.
  { title: 'the root as target', text: 'a CNAME .\nb MX 0 .\nc SRV 0 0 0 .\nd NS .\n' },
  {
    title: 'IPv6 in all forms',
    text: 'a AAAA ::\nb AAAA 1::\nc AAAA ::1\nd AAAA 2001:DB8:0:0::1\ne AAAA ::ffff:192.0.2.1\nf AAAA 1:2:3:4:5:6:192.0.2.1\ng AAAA 0:0:0:0:0:0:0:0\nh AAAA 1:2:3:4:5:6:7::\n',
  },
  {
    title: 'unknown types and generic data (RFC 3597 §5)',
    text: raw`a TYPE65280 \# 0
b TYPE65280 \# 3 ab cd ef
c TYPE1 \# 4 c0000201
d A \# 4 C0000202
e TYPE15 10 mail
f MX \# 5 000a 0161 00
g TXT \# 3 02 6162
h type65281 \# 1 ( 0
0 )
`,
  },
  {
    title: 'CAA',
    text: 'a CAA 0 issue "ca.test; x=y"\nb CAA 128 iodef "mailto:a@b"\nc CAA 0 ISSUEWILD ";"\nd CAA 0 issue ca.test\n',
    without: { nsd: 'wants tags in small letters', ldns: 'wants quotes' },
  },
  {
    title: 'NAPTR with expressions',
    text: raw`a NAPTR 100 10 "u" "E2U+sip" "!^(.*)$!sip:\\1@example.test!" .
b NAPTR 1 2 "" "" "" b
c NAPTR 0 0 s SIP+D2U "" _sip._udp
`,
  },
  {
    title: 'HINFO, X25, ISDN, RP, AFSDB, RT, KX',
    text: 'a HINFO "PC with blanks" OS\nb X25 311061700956\nc ISDN 150862028003217 004\nd ISDN "150862028003217"\ne RP mbox txt\nf AFSDB 1 a\ng RT 10 a\nh KX 1 a\n',
  },
  {
    title: 'LOC',
    text: 'a LOC 51 30 12.748 N 0 7 39.612 W 0.00m 1m 10000m 10m\nb LOC 42 21 54 N 71 06 18 W -24m 30m\nc LOC 42 N 71 W 0\nd LOC 90 0 0.000 S 180 0 0.000 E 42849672.95m 90000000m 90000000m 0.00m\n',
  },
  {
    title: 'DS, DNSKEY, CDS, CDNSKEY in pieces',
    text: 'sub NS ns\nsub DS 60485 13 2 ( 2d711642b726b04401627ca9\n fbac32f5c8530fb1 903cc4db02258717921a4881 )\na CDS 0 0 0 00\nb CDNSKEY 0 3 0 AA==\nc DNSKEY 257 3 13 ( mdsswUyr3DPW132mOi8V9xESWE8jTo0d\n xCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ== )\n',
  },
  {
    title: 'algorithm and certificate mnemonics',
    text: 'a DNSKEY 256 3 RSASHA256 AwEAAcNE\nb CERT PKIX 65535 RSASHA1 MAo=\nc CERT 65534 1 0 MAo=\nsub NS ns\nsub DS 1 ECDSAP256SHA256 1 0123456789abcdef0123456789abcdef01234567\n',
  },
  {
    title: 'RRSIG with both forms of time',
    text: 'a A 192.0.2.1\na RRSIG A 13 3 300 20301220123456 20201120123456 1 example.test. AAAA\nb RRSIG TYPE65280 13 3 300 1924992000 0 65535 example.test. AAAA\n',
    without: { nsd: 'wants dates' },
  },
  {
    title: 'NSEC and NSEC3',
    text: 'a NSEC b A MX TYPE65280 TYPE1\nc NSEC c.example.test. NSEC RRSIG\n2t7b4g4vsa5smi47k61mv5bv1a22bojr NSEC3 1 0 0 - 2VPTU5TIMAMQTTGL4LUU9KG21E0AOR3S A\n2t7b4g4vsa5smi47k61mv5bv1a22bojs NSEC3 1 1 12 aabbccdd 2vptu5timamqttgl4luu9kg21e0aor3s\nd NSEC3PARAM 1 0 12 -\n',
  },
  {
    title: 'SSHFP, TLSA, SMIMEA, OPENPGPKEY',
    text: 'a SSHFP 4 2 8c5a0e1bfc7c7ff2ee6d16b2c04c1ea6 f2de9a4b6bc1ff7b0a7a3a1f4a2c9d11\nb TLSA 3 1 1 ( 0b9fa5a59eed715c26c1020c711b4f6e\n C42D58B0015E14337A39DAD301C5AFC3 )\nc SMIMEA 3 0 0 aabb\nd OPENPGPKEY AA AA\n',
  },
  {
    title: 'SVCB and HTTPS (RFC 9460 appendix D)',
    text: raw`a SVCB 0 foo.example.com.
b SVCB 1 .
c SVCB 16 foo.example.com. port=53
d HTTPS 1 . alpn=h2,h3 ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1
e HTTPS 1 . alpn="h2,h3" port="8443"
f SVCB 1 foo key667=hello
g SVCB 1 foo key667="hello\210qoo"
h SVCB 1 foo ipv6hint="2001:db8::1,2001:db8::53:1"
i SVCB 16 foo alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1
j HTTPS 1 . no-default-alpn alpn=h2
k SVCB 1 foo ech=AAA=
`,
  },
  {
    title: 'SVCB keys without order, escaped commas',
    text: raw`a SVCB 16 foo ipv4hint=192.0.2.1 alpn=h2 port=1
b SVCB 16 foo alpn="f\\\\oo\\,bar,h2"
c SVCB 16 foo alpn=f\\\092oo\092,bar,h2
`,
  },
  {
    title: 'URI, EUI, NID, L32, L64, LP',
    text: 'a URI 10 1 "https://example.net/"\nb EUI48 00-00-5e-00-53-2A\nc EUI64 01-23-45-67-89-ab-cd-ef\nd NID 10 0014:4fff:ff20:ee64\ne L32 10 10.1.2.0\nf L64 10 2001:0DB8:1140:1000\ng LP 10 l64\n',
  },
  {
    title: 'APL, IPSECKEY, HIP, DHCID',
    text: 'a APL 1:192.168.32.0/21 !1:192.168.38.0/28 2:2001:db8::/32\nb APL\nc IPSECKEY 10 1 2 192.0.2.38 AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==\nd IPSECKEY 10 0 2 . AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==\ne IPSECKEY 10 3 2 gw AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==\nf HIP 2 200100107B1A74DF365639CC39F1D578 AwEAAbdxyhNuSutc5EMzxTs9LBPCIkOFH8cIvM4p9+LrV4e19WzK00+CI6zBCQTdtWsuxKbWIy87UOoJTwkUs7lBu+Upr1gsNrut79ryra+bSRGQb1slImA8YVJyuIDsj7kwzG7jnERNqnWxZ48AWkskmdHaVDP4BcelrTI3rMXdXF5D rvs.example.com.\ng DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=\n',
    without: { nsd: 'has no HIP', ldns: 'takes a relative gateway for an absolute one' },
  },
  {
    title: 'CSYNC, ZONEMD, DNAME, PTR',
    text: 'a CSYNC 66 3 A NS AAAA\n@ ZONEMD 2018031900 1 1 62e6cf51b02e54b9b5f967d547ce43136792901f9f88e637493daaf401c92c279dd10f0edb1c56f8080211f8480ee306\nd DNAME b.\np PTR a\n',
  },
  { title: 'the same record twice', text: 'a A 192.0.2.1\nA A 192.0.2.1\na A 192.0.2.2\n' },
  {
    title: 'data in hexadecimal and base64 cut at any place',
    text: 'a TLSA 0 0 1 a b c d\nb OPENPGPKEY A A A A\nc SSHFP 1 1 (0123456789abcdef0123\n 456789abcdef01234567)\n',
  },
  {
    title: 'no TTL',
    whole: true,
    text: '@ SOA ns h 1 2 3 4 7200\n@ NS ns\nns A 192.0.2.1\nb 77 A 192.0.2.2\nc A 192.0.2.3\n',
    without: { nsd: 'takes 3600', ldns: 'takes 3600' },
  },
  {
    title: 'no TTL, and an SOA with a minimum above 2^31-1',
    whole: true,
    text: '@ SOA ns h 1 2 3 4 4294967295\n@ NS ns\nns A 192.0.2.1\n',
    without: { bind: 'takes it', nsd: 'takes 3600', ldns: 'takes 3600' },
  },
  {
    title: 'a signature that ends after 2106',
    text: 'a RRSIG A 5 3 300 21220222132804 20260101000000 2642 example.test. AwEAAbSi\n',
  },
  { title: 'WKS with names of ports', text: 'a WKS 192.0.2.1 TCP tcpmux smtp\n' },
  // $GENERATE as BIND has it.
  {
    title: '$GENERATE with TTL, class, step',
    text: '$GENERATE 1-9/4 g$ 9 IN A 192.0.2.$\n$GENERATE 0-2 h$ CNAME g$\n',
    without: GENERATE,
  },
  {
    title: '$GENERATE with offset, width, base',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: modifiers of $GENERATE
    text: '$GENERATE 8-9 ${0,3,d}.x${-8,2,X} MX "10 m${1}"\n$GENERATE 10-300/29 ${0,8,n}r PTR h${0,0,x}\n$GENERATE 1-3 $.rev PTR p${0,2,o}\n',
    without: GENERATE,
  },
];
