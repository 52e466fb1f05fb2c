/**
 * Builds the dashboard into build/web: scripts in pieces that are loaded when their screen is opened, one style sheet, the page,
 * each also compressed, and manifest.json with the media types, from which the admin process serves them (src/api/dashboard/).
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const WEB = fileURLToPath(new URL('.', import.meta.url));
const OUT = join(WEB, '..', 'build', 'web');
const TYPES = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Everything that screens share is one file, which comes with the first script. Otherwise there is a file for each set of screens
 * that share something, and a dozen of them, of some hundred octets each, would hold up every screen.
 */
const sharedInOneFile = {
  name: 'shared-in-one-file',
  setup(builder) {
    const isShared = (name) =>
      /^((parts|kit)[\\/])?[\w-]+\.tsx?$/.test(name) && !['main.tsx', 'types.ts'].includes(name);
    const shared = readdirSync(WEB, { recursive: true, encoding: 'utf8' }).filter(isShared).sort();
    builder.onResolve({ filter: /^shared:all$/ }, ({ path }) => ({ path, namespace: 'shared' }));
    builder.onLoad({ filter: /./, namespace: 'shared' }, () => ({
      contents: shared.map((name) => `import ${JSON.stringify(join(WEB, name))};`).join('\n'),
      resolveDir: WEB,
    }));
    // A module belongs to the file of those scripts that import it: so all of them import all that is shared.
    builder.onLoad({ filter: /[\\/](main|screens[\\/].+)\.tsx$/ }, ({ path }) => ({
      contents: `import 'shared:all';\n${readFileSync(path, 'utf8')}`,
      loader: 'tsx',
    }));
  },
};

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });

const { metafile } = await build({
  entryPoints: [join(WEB, 'main.tsx'), join(WEB, 'styles', 'style.css')],
  outdir: OUT,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  // The oldest that know light-dark() (styles/base.css).
  target: ['es2023', 'chrome123', 'firefox120', 'safari17.5'],
  minify: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  charset: 'utf8',
  metafile: true,
  plugins: [sharedInOneFile],
  logLevel: 'warning',
  absWorkingDir: WEB,
});

const icon = readFileSync(join(WEB, 'icon.svg'));
const iconName = `icon-${createHash('sha256').update(icon).digest('hex').slice(0, 8)}.svg`;
writeFileSync(join(OUT, iconName), icon);

const written = Object.keys(metafile.outputs).map((path) => path.slice(path.lastIndexOf('/') + 1));
const nameOf = (start, ending) => written.find((name) => name.startsWith(start) && name.endsWith(ending));
const script = nameOf('main-', '.js');
/** What the first script needs before it runs: the browser fetches it at once. */
const imports = Object.entries(metafile.outputs)
  .find(([path]) => path.endsWith(`/${script}`))[1]
  .imports.filter(({ kind }) => kind === 'import-statement')
  .map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
const page = readFileSync(join(WEB, 'index.html'), 'utf8')
  .replaceAll('{{icon}}', `/assets/${iconName}`)
  .replaceAll('{{style}}', `/assets/${nameOf('style-', '.css')}`)
  .replaceAll('{{script}}', `/assets/${script}`)
  .replace('{{imports}}', imports.map((name) => `<link rel="modulepreload" href="/assets/${name}">`).join('\n    '));
writeFileSync(join(OUT, 'index.html'), page);

const files = readdirSync(OUT).sort();
for (const name of files) {
  const octets = readFileSync(join(OUT, name));
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  writeFileSync(join(OUT, `${name}.br`), brotliCompressSync(octets, quality));
  writeFileSync(join(OUT, `${name}.gz`), gzipSync(octets, { level: 9 }));
}
const assets = files.filter((name) => name !== 'index.html').map((name) => [name, TYPES[extname(name)]]);
/** The files of the screens, by their names in web/screens/. */
const screens = Object.entries(metafile.outputs).flatMap(([path, { entryPoint }]) => {
  const name = /^screens\/.+\/([\w-]+)\.tsx$/.exec(entryPoint ?? '')?.[1];
  return name === undefined ? [] : [[name, path.slice(path.lastIndexOf('/') + 1)]];
});
const first = [script, ...imports, nameOf('style-', '.css'), 'index.html'];
writeFileSync(
  join(OUT, 'manifest.json'),
  JSON.stringify({ files: Object.fromEntries(assets), screens: Object.fromEntries(screens), first }, null, 2),
);
