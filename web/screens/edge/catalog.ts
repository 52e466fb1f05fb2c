/** The settings of a zone in words: what each does, and which values it has. */
import type { ZoneSetting } from '../../types.js';

type SettingId = ZoneSetting['id'];
export type SettingValue = ZoneSetting['value'];
export type SettingValues = Readonly<Partial<Record<SettingId, SettingValue>>>;

export type Control =
  | { readonly kind: 'switch' }
  | { readonly kind: 'choice'; readonly choices: readonly (readonly [value: string, words: string])[] }
  | { readonly kind: 'duration' }
  | { readonly kind: 'header' };

export interface About {
  readonly id: SettingId;
  readonly name: string;
  readonly does: string;
  readonly control: Control;
  /** Which values there are, for who was refused. */
  readonly takes?: string;
  /** Why it has no effect, or not the one that people expect, beside these others. */
  readonly note?: (values: SettingValues) => string | undefined;
}

export interface Group {
  readonly title: string;
  readonly settings: readonly About[];
}

const SWITCH: Control = { kind: 'switch' };
const isPlain = ({ ssl }: SettingValues): boolean => ssl === 'off';
const NO_HTTPS = 'Has no effect at present: visitors are sent to plain HTTP (see “How the edge reaches your servers”).';

const FOR_VISITORS: readonly About[] = [
  {
    id: 'always_use_https',
    name: 'Always use HTTPS',
    does: 'Visitors who come over plain HTTP are sent to the same address with https.',
    control: SWITCH,
    note: (values) => (isPlain(values) ? NO_HTTPS : undefined),
  },
  {
    id: 'min_tls_version',
    name: 'Oldest TLS version',
    does: 'Browsers and programs that know only older versions get no connection.',
    control: {
      kind: 'choice',
      choices: [
        ['1.2', 'TLS 1.2: all present software'],
        ['1.3', 'TLS 1.3: since about 2018'],
      ],
    },
    note: ({ min_tls_version: oldest }) =>
      oldest === '1.0' || oldest === '1.1'
        ? `It is set to ${oldest}, which means 1.2: older versions are not safe any more (RFC 8996).`
        : undefined,
  },
  {
    id: 'tls_1_3',
    name: 'TLS 1.3',
    does: 'Offers the newest version of TLS, with which connections begin one round trip earlier.',
    control: SWITCH,
    note: ({ tls_1_3: newest, min_tls_version: oldest }) =>
      newest === 'off' && oldest === '1.3'
        ? 'It is offered all the same: it is the oldest version allowed.'
        : undefined,
  },
  {
    id: 'http2',
    name: 'HTTP/2',
    does: 'Browsers load the parts of a page over one connection. An HTTPS record tells them before they connect.',
    control: SWITCH,
  },
  {
    id: 'websockets',
    name: 'WebSockets',
    does: 'Pages may keep a connection open in both directions, as chats do. When off, they are refused with status 400.',
    control: SWITCH,
  },
  {
    id: 'compression',
    name: 'Compression',
    does: 'Texts, scripts and the like are compressed for visitors who understand that, unless your servers have done it or forbid it.',
    control: SWITCH,
  },
  {
    id: 'brotli',
    name: 'Brotli',
    does: 'Compresses with Brotli, too, in addition to gzip and zstd.',
    control: SWITCH,
    note: ({ compression }) => (compression === 'off' ? 'Has no effect at present: nothing is compressed.' : undefined),
  },
  {
    id: 'security_header',
    name: 'HTTPS only, remembered by browsers (HSTS)',
    does: 'Browsers that were here once use nothing but HTTPS until the time has passed, whatever you change meanwhile.',
    control: { kind: 'header' },
    takes: 'The time is in whole seconds, from 0 to 730 days.',
    note: (values) => (isPlain(values) ? NO_HTTPS : undefined),
  },
];

const TO_SERVERS: readonly About[] = [
  {
    id: 'ssl',
    name: 'How the edge reaches your servers',
    does: 'Whether requests to your web servers are encrypted, and whether their certificates are checked. “Like the visitor”: with HTTPS for who came with it.',
    control: {
      kind: 'choice',
      choices: [
        ['strict', 'Like the visitor; certificate checked'],
        ['full', 'Like the visitor; certificate not checked'],
        ['flexible', 'Always plain HTTP'],
        ['off', 'Plain HTTP, for visitors too'],
      ],
    },
  },
  {
    id: 'origin_max_http_version',
    name: 'Newest HTTP version',
    does: 'HTTP/2 is used with servers that offer it in TLS.',
    control: {
      kind: 'choice',
      choices: [
        ['1', 'HTTP/1.1'],
        ['2', 'HTTP/2'],
      ],
    },
    note: ({ ssl, origin_max_http_version: newest }) =>
      newest === '2' && (ssl === 'off' || ssl === 'flexible')
        ? 'Has no effect at present: your servers are asked over plain HTTP.'
        : undefined,
  },
];

const DEVELOPED = 'Not used while development mode is on.';

const CACHE: readonly About[] = [
  {
    id: 'cache_level',
    name: 'What is stored',
    does: 'The edge keeps responses in memory and answers the next visitors with them. What your server forbids to store is never stored.',
    control: {
      kind: 'choice',
      choices: [
        ['aggressive', 'Static files: images, scripts and others'],
        ['basic', 'Static files without a query'],
        ['simplified', 'Static files, whatever the query'],
        ['cache_everything', 'Everything that HTTP allows'],
        ['bypass', 'Nothing'],
      ],
    },
    note: ({ development_mode: mode }) => (mode === 'on' ? DEVELOPED : undefined),
  },
  {
    id: 'browser_cache_ttl',
    name: 'How long browsers keep it, at least',
    does: 'The shortest time for which visitors’ browsers keep what the edge stores. 0: as your server says.',
    control: { kind: 'duration' },
    takes: 'It is in whole seconds, from 0 to 365 days.',
    note: ({ development_mode: mode, cache_level: level }) => {
      if (mode === 'on') return DEVELOPED;
      return level === 'bypass' ? 'Has no effect at present: nothing is stored.' : undefined;
    },
  },
  {
    id: 'development_mode',
    name: 'Development mode',
    does: 'Every request goes to your servers, so that you see your changes at once. It ends by itself after three hours.',
    control: SWITCH,
  },
];

const OF_CUSTOMERS: readonly About[] = [
  {
    id: 'unique_targets',
    name: 'A target of its own for each',
    does: 'A CNAME record proves a custom hostname only if it leads to the name made for just this one, so that nobody else can claim it.',
    control: SWITCH,
  },
];

/** `http3` is not among them: the edge keeps it for clients that set it, and does nothing with it. */
export const GROUPS: readonly Group[] = [
  { title: 'Visitors and the edge', settings: FOR_VISITORS },
  { title: 'The edge and your servers', settings: TO_SERVERS },
  { title: 'Cache', settings: CACHE },
  { title: 'Custom hostnames', settings: OF_CUSTOMERS },
];
