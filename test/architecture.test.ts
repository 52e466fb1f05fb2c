/**
 * Enforces the floor plan: which directory may import what, where packages may be used, and the rules for hot files
 * (docs/architecture.md).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const SRC = join(ROOT, 'src');

/** Directory → directories its files may import from, besides their own. */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  dns: ['base'],
  http: ['base'],
  plain: ['http', 'base'],
  egress: ['base'],
  mail: ['base'],
  foreign: ['base'],
  expressions: ['base'],
  steering: ['base'],
  location: ['steering', 'base'],
  balancing: ['base'],
  rulesets: ['expressions', 'base'],
  config: ['balancing', 'egress', 'base'],
  dnssec: ['dns', 'base'],
  'policy-records': ['dns', 'base'],
  zone: ['dns', 'base'],
  store: ['dns', 'base'],
  cluster: ['store', 'base'],
  vault: ['store', 'base'],
  jobs: ['store', 'base'],
  serving: ['dnssec', 'zone', 'store', 'balancing', 'dns', 'base'],
  image: ['dnssec', 'zone', 'balancing', 'location', 'steering', 'dns', 'base'],
  resolver: ['serving', 'store', 'egress', 'dns', 'base'],
  answer: ['image', 'location', 'steering', 'balancing', 'expressions', 'dns', 'base'],
  observe: ['answer', 'dns', 'base'],
  compact: ['answer', 'image', 'serving', 'dnssec', 'vault', 'store', 'dns', 'base'],
  publish: [
    'answer',
    'image',
    'serving',
    'dnssec',
    'zone',
    'store',
    'balancing',
    'location',
    'steering',
    'dns',
    'base',
  ],
  control: [
    'policy-records',
    'vault',
    'resolver',
    'jobs',
    'serving',
    'dnssec',
    'zone',
    'store',
    'egress',
    'balancing',
    'rulesets',
    'expressions',
    'dns',
    'base',
  ],
  certs: [
    'policy-records',
    'control',
    'vault',
    'jobs',
    'resolver',
    'serving',
    'http',
    'store',
    'egress',
    'dns',
    'base',
  ],
  bucket: ['control', 'vault', 'plain', 'http', 'store', 'base'],
  explain: [
    'control',
    'publish',
    'compact',
    'answer',
    'image',
    'resolver',
    'serving',
    'dnssec',
    'zone',
    'store',
    'balancing',
    'steering',
    'location',
    'dns',
    'base',
  ],
  transfer: ['control', 'answer', 'jobs', 'resolver', 'serving', 'vault', 'store', 'egress', 'dns', 'base'],
  hostnames: ['certs', 'control', 'vault', 'jobs', 'resolver', 'serving', 'http', 'store', 'egress', 'dns', 'base'],
  statistics: ['answer', 'observe', 'control', 'store', 'dns', 'base'],
  monitoring: ['control', 'resolver', 'serving', 'store', 'egress', 'balancing', 'base'],
  'sign-in': ['control', 'vault', 'resolver', 'store', 'egress', 'base'],
  alerts: ['control', 'jobs', 'resolver', 'vault', 'store', 'egress', 'base'],
  backup: ['bucket', 'control', 'store', 'base'],
  server: ['answer', 'image', 'publish', 'dns', 'base'],
  edge: [
    'hostnames',
    'certs',
    'bucket',
    'vault',
    'resolver',
    'serving',
    'plain',
    'http',
    'store',
    'egress',
    'balancing',
    'rulesets',
    'expressions',
    'steering',
    'dns',
    'base',
  ],
  warnings: [
    'policy-records',
    'alerts',
    'backup',
    'certs',
    'control',
    'resolver',
    'serving',
    'dnssec',
    'store',
    'balancing',
    'dns',
    'base',
  ],
  api: [
    'warnings',
    'explain',
    'statistics',
    'observe',
    'hostnames',
    'certs',
    'alerts',
    'sign-in',
    'bucket',
    'monitoring',
    'control',
    'rulesets',
    'plain',
    'http',
    'store',
    'balancing',
    'dns',
    'base',
  ],
  s3: ['bucket', 'control', 'vault', 'plain', 'http', 'store', 'base'],
  roles: [],
  cli: ['roles'],
};
/** The floors at the top may import all that is below. */
const BELOW_ROLES = Object.keys(FLOORS).filter((floor) => floor !== 'roles' && floor !== 'cli');
const allowedImports = (floor: string): readonly string[] =>
  floor === 'roles' ? BELOW_ROLES : floor === 'cli' ? [...BELOW_ROLES, 'roles'] : (FLOORS[floor] ?? []);

/**
 * Folders of the large directories, each with those of the same directory that its files may import from; `.` is the files beside
 * them. Each stands above what it imports.
 */
const ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  control: {
    rules: [],
    guard: ['rules'],
    kernel: ['guard', 'rules'],
    schedule: ['kernel'],
    certificates: ['kernel'],
    access: ['kernel', 'guard', 'rules'],
    people: ['access', 'kernel', 'guard', 'rules'],
    flatten: ['kernel', 'guard'],
    zones: ['certificates', 'schedule', 'kernel', 'guard', 'rules'],
    records: ['zones', 'kernel', 'guard', 'rules'],
    dnssec: ['records', 'schedule', 'kernel', 'guard'],
    imports: ['dnssec', 'records', 'zones', 'kernel', 'guard', 'rules'],
    updates: ['imports', 'records', 'kernel', 'guard', 'rules'],
    reverse: ['records', 'kernel', 'guard', 'rules'],
    templates: ['records', 'kernel', 'guard', 'rules'],
    balancing: ['kernel', 'guard', 'rules'],
    rulesets: ['zones', 'kernel', 'guard', 'rules'],
    secondary: ['imports', 'dnssec', 'zones', 'access', 'schedule', 'kernel', 'guard', 'rules'],
    catalogs: ['secondary', 'imports', 'dnssec', 'zones', 'schedule', 'kernel', 'guard', 'rules'],
    'catalog-consumer': ['secondary', 'zones', 'schedule', 'kernel', 'guard', 'rules'],
    '.': ['catalogs', 'secondary', 'reverse', 'dnssec', 'records', 'zones', 'flatten', 'certificates', 'kernel'],
  },
  edge: {
    'error-pages': [],
    exchange: ['error-pages'],
    shared: [],
    http1: ['exchange', 'error-pages'],
    http2: ['exchange'],
    purge: [],
    compress: ['exchange', 'error-pages'],
    cache: ['compress', 'purge', 'exchange', 'error-pages'],
    bucket: ['exchange', 'error-pages'],
    route: [],
    rules: ['exchange', 'error-pages'],
    tls: [],
    balance: ['shared', 'exchange', 'error-pages'],
    proxy: ['balance', 'rules', 'route', 'bucket', 'http1', 'http2', 'shared', 'exchange', 'error-pages'],
    listen: ['proxy', 'balance', 'rules', 'route', 'tls', 'http1', 'http2', 'shared', 'exchange', 'error-pages'],
    quick: ['listen', 'proxy', 'cache', 'compress', 'bucket', 'http1', 'http2', 'exchange', 'error-pages'],
    '.': [
      'quick',
      'listen',
      'proxy',
      'balance',
      'cache',
      'compress',
      'bucket',
      'purge',
      'rules',
      'route',
      'tls',
      'shared',
      'exchange',
    ],
  },
  roles: {
    process: [],
    supervision: ['process'],
    cluster: ['process'],
    services: ['cluster', 'process'],
    edge: ['services', 'supervision', 'process'],
    alerts: ['services', 'process'],
    probing: ['services', 'supervision', 'process'],
    '.': ['alerts', 'probing', 'edge', 'services', 'cluster', 'supervision', 'process'],
  },
};

/** Package → files (or directories, ending in '/') that may use it. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'ipaddr.js': ['base/ip.ts'],
  undici: ['alerts/', 'certs/', 'edge/', 'hostnames/', 'sign-in/'],
  '@peculiar/x509': ['certs/x509.ts'],
  'reflect-metadata': ['certs/x509.ts'],
  tldts: ['control/rules/'],
  'fastest-levenshtein': ['config/near-match.ts'],
  'mmdb-lib': ['location/database.ts'],
  'lru-cache': ['resolver/', 'edge/'],
  'cli-progress': ['cli/terminal.ts'],
  'prom-client': ['base/metrics.ts'],
  pino: ['base/log.ts'],
  'pino-pretty': ['base/log.ts'],
  zod: ['dns/', 'config/', 'certs/', 'api/'],
  'better-sqlite3': ['store/', 'foreign/powerdns/database.ts'],
  pg: ['cluster/primary.ts'],
  dns2: ['resolver/upstream.ts'],
  koffi: ['server/syscalls.ts'],
  nodemailer: ['mail/mail.ts'],
  'openid-client': ['sign-in/'],
  jose: ['sign-in/'],
  otpauth: ['sign-in/'],
  '@simplewebauthn/server': ['sign-in/'],
  yaml: ['config/load.ts', 'control/templates/text.ts'],
  fastify: ['api/', 'bucket/'],
  '@aws-sdk/client-s3': ['bucket/s3/'],
  'fast-xml-parser': ['s3/xml.ts'],
  'fastify-plugin': ['api/'],
  'fastify-type-provider-zod': ['api/'],
  '@fastify/swagger': ['api/'],
  '@fastify/swagger-ui': ['api/'],
  commander: ['cli/', 'main.ts'],
};

/** Files that are tables: up to 800 lines. */
const TABLES: readonly string[] = [];

interface Import {
  readonly from: string;
  readonly target: string;
}

function sourceFiles(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return sourceFiles(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}

const files = sourceFiles(SRC).map((path) => ({ name: relative(SRC, path), text: readFileSync(path, 'utf8') }));

function importsOf(text: string): string[] {
  return [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\s[^;]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|(?:^|\n)import '([^']+)'/g,
    ),
  ].map((match) => match[1] ?? match[2] ?? match[3]!);
}

const floorOf = (name: string): string => (name.includes('/') ? name.slice(0, name.indexOf('/')) : name);

function localImports(): Import[] {
  return files.flatMap(({ name, text }) =>
    importsOf(text)
      .filter((target) => target.startsWith('.'))
      .map((target) => ({
        from: name,
        target: relative(SRC, resolve(SRC, dirname(name), target)).replace(/\.js$/, '.ts'),
      })),
  );
}

/** The folder of a file inside its directory; `.`: none. */
const roomOf = (name: string): string => name.split('/').slice(1, -1)[0] ?? '.';

const standing = [...new Set(files.map(({ name }) => floorOf(name)))].filter((floor) => floor !== 'main.ts');
const packageName = (target: string): string => target.split('/', target.startsWith('@') ? 2 : 1).join('/');
const packagesOf = (text: string): string[] =>
  importsOf(text)
    .filter((target) => !target.startsWith('.') && !target.startsWith('node:'))
    .map(packageName);

const WEB = join(ROOT, 'web');

/** Packages of the dashboard, which are bundled into it. */
const WEB_PACKAGES = ['preact', 'lean-qr', 'minisearch'];

t.test('the dashboard imports its own files, its packages, and types of the API', async (t) => {
  const files = readdirSync(WEB, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  t.ok(files.length >= 10, 'it is found');
  const strays = files.flatMap((name) => {
    const text = readFileSync(join(WEB, name), 'utf8');
    return importsOf(text)
      .filter((target) => {
        if (!target.startsWith('.')) return !WEB_PACKAGES.includes(packageName(target));
        const file = relative(ROOT, resolve(WEB, dirname(name), target));
        return !file.startsWith('web/') && !(name === 'types.ts' && /^src\/api\/(envelope|.*schema)\.js$/.test(file));
      })
      .map((target) => `${name}: ${target}`);
  });
  t.strictSame(strays, []);
  const types = readFileSync(join(WEB, 'types.ts'), 'utf8');
  t.notMatch(types, /^export (?!type )/m, 'only types come from the API');
});

t.test('the plan covers every directory of src', async (t) => {
  for (const floor of standing) t.ok(floor in FLOORS, `src/${floor} has a floor`);
});

/** Rows of the first table of docs/architecture.md. */
function documentedFloors(): { level: number; floor: string; imports: string; packages: string }[] {
  const text = readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8');
  const rows = [...text.matchAll(/^\| *(\d+) *\|([^|]+)\|[^|]+\|([^|]+)\|([^|]+)\|$/gm)];
  return rows.map(([, level, floor, imports, packages]) => ({
    level: Number(level),
    floor: floor!.trim().replace(', main.ts', ''),
    imports: imports!.trim(),
    packages: packages!.trim(),
  }));
}

t.test('docs/architecture.md has the same table', async (t) => {
  const rows = documentedFloors();
  t.strictSame(rows.map(({ floor }) => floor).sort(), [...standing].sort(), 'one row for each directory of src');
  const levels = new Map(rows.map(({ floor, level }) => [floor, level]));
  const used = new Set(files.flatMap(({ text }) => packagesOf(text)));
  let last = 0;
  for (const { floor, level, imports, packages } of rows) {
    const below = allowedImports(floor).filter((name) => standing.includes(name));
    if (imports === 'all below') t.ok(floor === 'roles' || floor === 'cli', `${floor} names what it imports`);
    else t.strictSame(imports.split(/[ –]+/).filter(Boolean).sort(), [...below].sort(), `imports of ${floor}`);
    const home = Object.keys(PACKAGES).filter((name) => PACKAGES[name]!.some((place) => place.startsWith(`${floor}/`)));
    t.strictSame(
      packages.split(', ').filter(Boolean).sort(),
      home.filter((name) => used.has(name)).sort(),
      `packages of ${floor}`,
    );
    t.ok(level >= last && below.every((name) => levels.get(name)! < level), `${floor} stands above what it imports`);
    last = level;
  }
});

t.test('imports go down the floor plan only', async (t) => {
  const upward = localImports().filter(({ from, target }) => {
    const floor = floorOf(from);
    if (floor === 'main.ts') return false;
    const other = floorOf(target);
    return other !== floor && !allowedImports(floor).includes(other);
  });
  t.strictSame(upward, []);
});

t.test('folders of a directory import from those that stand below them', async (t) => {
  for (const [floor, rooms] of Object.entries(ROOMS)) {
    const names = Object.keys(rooms);
    const inside = localImports().filter(({ from, target }) => floorOf(from) === floor && floorOf(target) === floor);
    const upward = inside.filter(({ from, target }) => {
      const [room, other] = [roomOf(from), roomOf(target)];
      return room !== other && !rooms[room]?.includes(other);
    });
    t.strictSame(upward, [], `imports inside ${floor}`);
    for (const room of names) {
      for (const other of rooms[room]!)
        t.ok(names.indexOf(other) < names.indexOf(room), `${room} stands above ${other}`);
    }
    const folders = new Set(files.filter(({ name }) => floorOf(name) === floor).map(({ name }) => roomOf(name)));
    t.strictSame([...folders].sort(), [...names].sort(), `all folders of ${floor} have a row`);
  }
});

t.test('docs/architecture.md has the same table of folders', async (t) => {
  const text = readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8');
  const rows = [...text.matchAll(/^\| *([a-z]+)\/([a-z0-9-]*) *\|[^|]+\|([^|]+)\|$/gm)];
  const documented = rows.map(([, floor, room, imports]) => [
    floor!,
    room || '.',
    imports!.trim().split(/[ –]+/).filter(Boolean),
  ]);
  t.strictSame(
    documented,
    Object.entries(ROOMS).flatMap(([floor, rooms]) =>
      Object.entries(rooms).map(([room, imports]) => [floor, room, imports]),
    ),
  );
});

t.test('comments name files that exist', async (t) => {
  const paths = files.map((file) => `${file.name}\n`).join('/');
  const stale = files.flatMap(({ name, text }) =>
    text
      .split('\n')
      .filter((line) => /^\s*(\/\*\*|\*|\/\/)/.test(line))
      .flatMap((line) => line.match(/\b[a-z0-9-]+(?:\/[a-z0-9-]+)*\.ts\b/g) ?? [])
      .filter((named) => !named.startsWith('web/') && !`/${paths}`.includes(`/${named}\n`))
      .map((named) => `${name}: ${named}`),
  );
  t.strictSame(stale, []);
});

t.test('no file imports itself through others', async (t) => {
  const edges = new Map<string, string[]>();
  for (const { from, target } of localImports()) edges.set(from, [...(edges.get(from) ?? []), target]);
  const state = new Map<string, 'open' | 'done'>();
  const cycles: string[] = [];
  const visit = (name: string, path: readonly string[]): void => {
    if (state.get(name) === 'open') cycles.push([...path.slice(path.indexOf(name)), name].join(' → '));
    if (state.has(name)) return;
    state.set(name, 'open');
    for (const next of edges.get(name) ?? []) visit(next, [...path, name]);
    state.set(name, 'done');
  };
  for (const { name } of files) visit(name, []);
  t.strictSame(cycles, []);
});

t.test('packages are used only where the plan allows, and every declared one is used', async (t) => {
  const strays = files.flatMap(({ name, text }) =>
    packagesOf(text)
      .filter(
        (used) => !PACKAGES[used]?.some((place) => (place.endsWith('/') ? name.startsWith(place) : name === place)),
      )
      .map((used) => `${name}: ${used}`),
  );
  t.strictSame(strays, []);
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const used = new Set(files.flatMap(({ text }) => packagesOf(text)));
  t.strictSame([...used].sort(), Object.keys(dependencies).sort(), 'declared and imported packages are the same');
});

t.test('directories stay small enough to read', async (t) => {
  const sizes = new Map<string, number>();
  for (const { name } of files) sizes.set(dirname(name), (sizes.get(dirname(name)) ?? 0) + 1);
  // A type is a file, and so is a migration.
  sizes.delete('dns/rr');
  sizes.delete('store/migrations');
  t.strictSame(
    [...sizes].filter(([, count]) => count > 25),
    [],
  );
});

t.test('time and randomness come from base', async (t) => {
  const strays = files
    .filter(({ name }) => name !== 'base/clock.ts' && name !== 'base/random.ts')
    .flatMap(({ name, text }) =>
      [...withoutComments(text).matchAll(/(?<!server\.)\b(Date\.now|setTimeout|setInterval|Math\.random)\b\(/g)].map(
        (match) => `${name}: ${match[1]}`,
      ),
    );
  t.strictSame(strays, []);
});

/** Where SQL for PostgreSQL is, and that for a database of another program. */
const OTHER_SQL = new Set(['cluster/statements.ts', 'foreign/powerdns/database.ts']);

/** What only the store may say: `UPDATE` alone is also an opcode of DNS. */
const SQL =
  /\.prepare(?:Tuples)?\s*[<(](?!\))|\.(?:defineFunction|alter)\(|\bsql:|\b(?:Statement|\w+Statements)\b|\bSELECT\s|\bINSERT (?:OR \w+ )?INTO\b|\bUPDATE \S+ SET\b|\bDELETE FROM\b|\bPRAGMA\b/g;

t.test('SQL stays in the store', async (t) => {
  const foundIn = (name: string, text: string): string[] =>
    [...withoutComments(text).matchAll(SQL)].map(([found]) => `${name}: ${found}`);
  const inStore = files
    .filter(({ name }) => name.startsWith('store/'))
    .flatMap(({ name, text }) => foundIn(name, text));
  t.ok(inStore.length > 100, 'the store is full of what is looked for');
  t.strictSame(
    files
      .filter(({ name }) => !name.startsWith('store/') && !OTHER_SQL.has(name))
      .flatMap(({ name, text }) => foundIn(name, text)),
    [],
  );
});

t.test('hot files allocate no closures, promises, maps or strings', async (t) => {
  const hot = files.filter(({ text }) => /^\/\/ hot$/m.test(text));
  t.ok(hot.length >= 5, 'the answer path is marked');
  for (const { name, text } of hot) {
    const code = withoutComments(text);
    for (const pattern of [
      /\basync\b/,
      /\bPromise\b/,
      /\bJSON\./,
      /new Map\b/,
      /=>\s*\{/,
      /\btry\b/,
      /`/,
      /\.\.\.[a-z]/,
    ]) {
      t.notMatch(code, pattern, `${name} is free of ${pattern}`);
    }
  }
});

t.test('each migration has a number of its own', async (t) => {
  const numbers = files.flatMap(({ name }) => /^store\/migrations\/(\d{4})-/.exec(name)?.[1] ?? []);
  t.strictSame(
    numbers.filter((number, i) => numbers.indexOf(number) !== i),
    [],
  );
});

t.test('files stay small enough to read', async (t) => {
  const web = readdirSync(WEB, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(tsx?|css|js)$/.test(name))
    .map((name) => ({ name: `web/${name}`, text: readFileSync(join(WEB, name), 'utf8') }));
  t.ok(
    ['/main.tsx', '.css', '/bundle.js'].every((end) => web.some(({ name }) => name.endsWith(end))),
    'those of the dashboard are read too',
  );
  const large = [...files, ...web]
    .map(({ name, text }) => ({ name, lines: text.split('\n').length - 1 }))
    .filter(({ name, lines }) => lines > (TABLES.includes(name) ? 800 : 400));
  t.strictSame(large, []);
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

/** Where a connection is opened, and who decides to what: the rule of reach, or the operator's settings. */
const CONNECTIONS: Readonly<Record<string, string>> = {
  'alerts/send.ts': 'egress: webhooks',
  'certs/acme/transport.ts': 'the operator names the directory of an authority',
  'certs/http-challenge.ts': 'asks through hostnames/token-fetch.ts',
  'cluster/primary.ts': 'the operator names the PostgreSQL server',
  'bucket/s3/': 'the operator names the S3 server',
  'edge/http1/': 'egress: origins, by edge/proxy/origin-plan.ts',
  'edge/http2/': 'egress: origins, by edge/proxy/origin-plan.ts',
  'edge/proxy/': 'egress: origins, by edge/proxy/origin-plan.ts',
  'hostnames/token-fetch.ts': 'egress: http-checks',
  'monitoring/probes/': 'egress: origins, by monitoring/probes/probe.ts',
  'observe/frame-stream.ts': 'the operator names the socket of dnstap',
  'resolver/datagram-question.ts': 'asked by resolver/upstream.ts and, after egress, by transfer/notify/ask-peer.ts',
  'resolver/upstream.ts': 'the operator names resolvers; egress: ds-queries, by resolver/parent.ts',
  'roles/process/acknowledgement.ts': 'the socket of the data directory',
  'roles/process/dns-port.ts': 'binds only',
  'roles/health.ts': 'the running server itself',
  'roles/probing/icmp.ts': 'egress: origins, by monitoring/probes/probe.ts',
  'server/': 'binds only',
  'sign-in/oidc/fetch.ts': 'egress: sign-in',
  'transfer/in/stream.ts': 'egress: transfers',
};

/** What opens a connection. */
const OPENS =
  /\b(?:connect|connectTcp|connectTls|createConnection|createSocket|requestHttps?|fetch|lookup)\(|\bnew (?:Socket|Agent|Pool|Client|S3Client|ProxyAgent|WebSocket|EventSource)\(|\bhttp2?s?\.(?:request|connect|get)\(/;
/** The packages and modules that can. */
const CAN_CONNECT = new Set([
  'node:net',
  'node:tls',
  'node:http',
  'node:https',
  'node:http2',
  'node:dgram',
  'undici',
  'pg',
]);

t.test('connections are opened only where it is known who decides to what', async (t) => {
  const isListed = (name: string): boolean =>
    Object.keys(CONNECTIONS).some((place) => (place.endsWith('/') ? name.startsWith(place) : name === place));
  const opening = files.filter(({ text }) => {
    const code = withoutComments(text);
    const values = [...code.matchAll(/^import (?!type )[^;]*? from '([^']+)'/gm)].map(([, from]) => from!);
    return (values.some((from) => CAN_CONNECT.has(from)) || /[^.\w]fetch\(/.test(code)) && OPENS.test(code);
  });
  const strays = opening.map(({ name }) => name).filter((name) => !isListed(name));
  t.strictSame(strays, []);
  const asking = [
    'edge/proxy/origin-plan.ts',
    'hostnames/token-fetch.ts',
    'monitoring/probes/probe.ts',
    'resolver/parent.ts',
    'transfer/in/stream.ts',
  ];
  for (const name of [...asking, 'transfer/notify/ask-peer.ts']) {
    t.match(files.find((file) => file.name === name)?.text, /egress\.refusal\('/, `${name} asks the rule`);
  }
});
