/** The floor plan, enforced: who may import what, which packages where, and the rules of hot files (docs/architecture.md). */
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
  config: ['base'],
  zone: ['dns', 'base'],
  store: ['dns', 'base'],
  vault: ['store', 'base'],
  jobs: ['store', 'base'],
  serving: ['zone', 'store', 'dns', 'base'],
  image: ['zone', 'dns', 'base'],
  resolver: ['serving', 'store', 'dns', 'base'],
  answer: ['image', 'dns', 'base'],
  publish: ['answer', 'image', 'serving', 'zone', 'store', 'dns', 'base'],
  control: ['vault', 'resolver', 'jobs', 'serving', 'zone', 'store', 'dns', 'base'],
  certs: ['control', 'vault', 'jobs', 'resolver', 'serving', 'http', 'store', 'dns', 'base'],
  bucket: ['control', 'vault', 'http', 'store', 'base'],
  explain: ['control', 'publish', 'answer', 'image', 'resolver', 'serving', 'zone', 'store', 'dns', 'base'],
  hostnames: ['certs', 'control', 'jobs', 'resolver', 'serving', 'http', 'store', 'dns', 'base'],
  server: ['answer', 'image', 'publish', 'dns', 'base'],
  api: ['explain', 'hostnames', 'certs', 'bucket', 'control', 'http', 'store', 'dns', 'base'],
  roles: [],
  cli: ['roles'],
};
/** The floors at the top may import all that is below. */
const BELOW_ROLES = Object.keys(FLOORS).filter((floor) => floor !== 'roles' && floor !== 'cli');
const allowedImports = (floor: string): readonly string[] =>
  floor === 'roles' ? BELOW_ROLES : floor === 'cli' ? [...BELOW_ROLES, 'roles'] : (FLOORS[floor] ?? []);

/** Package → files (or directories, ending in '/') that may use it. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'ipaddr.js': ['base/ip.ts'],
  undici: ['certs/', 'hostnames/'],
  '@peculiar/x509': ['certs/x509.ts'],
  'reflect-metadata': ['certs/x509.ts'],
  tldts: ['dns/', 'control/', 'certs/', 'hostnames/'],
  'fastest-levenshtein': ['config/near-match.ts'],
  'lru-cache': ['resolver/'],
  'cli-progress': ['cli/terminal.ts'],
  'prom-client': ['base/metrics.ts'],
  pino: ['base/log.ts'],
  'pino-pretty': ['base/log.ts'],
  zod: ['dns/', 'config/', 'certs/', 'api/'],
  'better-sqlite3': ['store/'],
  dns2: ['resolver/upstream.ts'],
  koffi: ['server/syscalls.ts'],
  yaml: ['config/load.ts'],
  fastify: ['api/', 'bucket/'],
  'fastify-plugin': ['api/'],
  'fastify-type-provider-zod': ['api/'],
  '@fastify/helmet': ['api/'],
  '@fastify/rate-limit': ['api/'],
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

t.test('the plan covers every directory of src', async (t) => {
  const floors = new Set(files.map(({ name }) => floorOf(name)).filter((floor) => floor !== 'main.ts'));
  for (const floor of floors) t.ok(floor in FLOORS, `src/${floor} has a floor`);
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

t.test('packages stand where the plan names them', async (t) => {
  const strays = files.flatMap(({ name, text }) =>
    importsOf(text)
      .filter((target) => !target.startsWith('.') && !target.startsWith('node:'))
      .filter((target) => {
        const home = PACKAGES[target.startsWith('@') ? target.split('/').slice(0, 2).join('/') : target.split('/')[0]!];
        return !home?.some((place) => (place.endsWith('/') ? name.startsWith(place) : name === place));
      })
      .map((target) => `${name}: ${target}`),
  );
  t.strictSame(strays, []);
});

t.test('time and chance come from base', async (t) => {
  const strays = files
    .filter(({ name }) => name !== 'base/clock.ts' && name !== 'base/random.ts')
    .flatMap(({ name, text }) =>
      [...withoutComments(text).matchAll(/(?<!server\.)\b(Date\.now|setTimeout|setInterval|Math\.random)\b\(/g)].map(
        (match) => `${name}: ${match[1]}`,
      ),
    );
  t.strictSame(strays, []);
});

/** What only the store may say: `UPDATE` alone is also an opcode of DNS. */
const SQL =
  /\.prepare(?:Tuples)?\s*[<(](?!\))|\.(?:defineFunction|alter)\(|\bsql:|\b(?:Statement|\w+Statements)\b|\bSELECT\s|\bINSERT (?:OR \w+ )?INTO\b|\bUPDATE \S+ SET\b|\bDELETE FROM\b|\bPRAGMA\b/g;

t.test('the store keeps its statements', async (t) => {
  const foundIn = (name: string, text: string): string[] =>
    [...withoutComments(text).matchAll(SQL)].map(([found]) => `${name}: ${found}`);
  const inStore = files
    .filter(({ name }) => name.startsWith('store/'))
    .flatMap(({ name, text }) => foundIn(name, text));
  t.ok(inStore.length > 100, 'the store is full of what is looked for');
  t.strictSame(
    files.filter(({ name }) => !name.startsWith('store/')).flatMap(({ name, text }) => foundIn(name, text)),
    [],
  );
});

t.test('hot files allocate no closures, promises, maps or texts', async (t) => {
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

t.test('files stay small enough to read', async (t) => {
  const large = files
    .map(({ name, text }) => ({ name, lines: text.split('\n').length - 1 }))
    .filter(({ name, lines }) => lines > (TABLES.includes(name) ? 800 : 400));
  t.strictSame(large, []);
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
