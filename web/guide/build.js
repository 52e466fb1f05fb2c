/**
 * Builds the guide into build/web/guide: each document as a page, what can be searched, and manifest.json, from which the admin process
 * serves them below /docs/guide. Fails for a link that leads to nothing.
 */
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import MarkdownIt from 'markdown-it';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = join(HERE, '..', '..');
const OUT = join(ROOT, 'build', 'web', 'guide');
const PLACE = '/docs/guide';
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.yaml': 'text/plain; charset=utf-8',
  '.service': 'text/plain; charset=utf-8',
};
/** The list of all documents, in its order. */
const INDEX = 'docs/README.md';
/** Documents beside docs/ and their addresses. */
const OTHERS = {
  'README.md': 'readme',
  'SECURITY.md': 'security',
  'CONTRIBUTING.md': 'contributing',
  'CHANGELOG.md': 'changes',
};

const inDocs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .map((name) => posix.join('docs', name.replaceAll('\\', '/')))
  .filter((name) => TYPES[extname(name)] !== undefined || name.endsWith('.md'))
  .sort();
const documents = [...inDocs.filter((name) => name.endsWith('.md')), ...Object.keys(OTHERS)];
const copied = inDocs.filter((name) => !name.endsWith('.md'));

/** The address of a document without the place of the guide; '' is the index. */
function addressOf(name) {
  if (name === INDEX) return '';
  return OTHERS[name] ?? name.slice('docs/'.length).replace(/\.md$/, '');
}

/** As GitHub makes them, so that links hold in both places. */
function anchorOf(text, taken) {
  const plain = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
  const count = taken.get(plain) ?? 0;
  taken.set(plain, count + 1);
  return count === 0 ? plain : `${plain}-${count}`;
}

/** Where a link of a document leads in the guide. */
function linkOf(from, target) {
  if (/^(?:[a-z]+:|#)/i.test(target)) return target;
  const [path, anchor] = target.split('#');
  const name = posix.normalize(posix.join(posix.dirname(from), path)).replace(/\/$/, '');
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (documents.includes(name)) return `${PLACE}/${addressOf(name)}${suffix}`;
  if (copied.includes(name)) return `${PLACE}/${name.slice('docs/'.length)}`;
  // A directory is shown where the sources are.
  if (inDocs.some((file) => file.startsWith(`${name}/`))) return undefined;
  throw new Error(`${from}: the link to ${target} leads to nothing`);
}

const markdown = new MarkdownIt({ html: true });

/** The same for HTML in a document. */
const withLinks = (html, name) =>
  html.replace(/\b(href|src)="([^"]*)"/g, (_, attribute, target) => `${attribute}="${linkOf(name, target) ?? target}"`);

/** Gives headings their anchors, and links their addresses. */
function adapt(tokens, name) {
  const taken = new Map();
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'heading_open') token.attrSet('id', anchorOf(textOf(tokens[i + 1]), taken));
    // Inline styles are not allowed (Content-Security-Policy).
    const alignment = /^text-align:(\w+)$/.exec(token.attrGet('style') ?? '')?.[1];
    if (alignment) token.attrs = [['class', alignment]];
    if (token.type === 'html_block') token.content = withLinks(token.content, name);
    for (const child of token.children ?? []) {
      if (child.type === 'html_inline') child.content = withLinks(child.content, name);
      const attribute = child.type === 'link_open' ? 'href' : child.type === 'image' ? 'src' : undefined;
      if (attribute === undefined) continue;
      const link = linkOf(name, child.attrGet(attribute));
      if (link === undefined) child.attrs = [];
      else child.attrSet(attribute, link);
    }
  }
  return tokens;
}

const textOf = ({ children, content }) =>
  children ? children.map((child) => (child.type === 'softbreak' ? ' ' : child.content)).join('') : content;

/** The texts between headings, for the search. */
function sectionsOf(tokens, name, title) {
  const sections = [];
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const heading = textOf(tokens[i + 1]);
      const address = `${PLACE}/${addressOf(name)}`;
      sections.push({
        link: token.tag === 'h1' ? address : `${address}#${token.attrGet('id')}`,
        title,
        heading,
        text: '',
      });
    } else if (['inline', 'fence', 'code_block'].includes(token.type) && tokens[i - 1]?.type !== 'heading_open') {
      const last = sections.at(-1);
      if (last) last.text += `${textOf(token)}\n`;
    }
  }
  return sections;
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
const digest = (octets) => createHash('sha256').update(octets).digest('hex').slice(0, 8);

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const { metafile } = await build({
  entryPoints: [join(HERE, 'guide.ts'), join(HERE, 'guide.css')],
  outdir: OUT,
  entryNames: '[name]-[hash]',
  bundle: true,
  format: 'esm',
  target: ['es2023', 'chrome123', 'firefox120', 'safari17.5'],
  minify: true,
  legalComments: 'none',
  charset: 'utf8',
  metafile: true,
  logLevel: 'warning',
  absWorkingDir: HERE,
});
const written = Object.keys(metafile.outputs).map((path) => path.slice(path.lastIndexOf('/') + 1));
const [script, style] = ['.js', '.css'].map((ending) => written.find((name) => name.endsWith(ending)));

const parsed = documents.map((name) => {
  const tokens = adapt(markdown.parse(readFileSync(join(ROOT, name), 'utf8'), {}), name);
  const title = textOf(tokens[tokens.findIndex(({ type }) => type === 'heading_open') + 1]);
  return { name, tokens, title };
});
const sections = JSON.stringify(parsed.flatMap(({ name, tokens, title }) => sectionsOf(tokens, name, title)));
const searched = `sections-${digest(sections)}.json`;
writeFileSync(join(OUT, searched), sections);

/** All documents in the order of the index, below its headings. */
function contentsFor(address) {
  const entries = [];
  const { tokens } = parsed.find(({ name }) => name === INDEX);
  for (const [i, token] of tokens.entries()) {
    if (token.type === 'heading_open' && token.tag === 'h2') entries.push(`<h2>${escaped(textOf(tokens[i + 1]))}</h2>`);
    for (const child of token.type === 'inline' ? token.children : []) {
      const href = child.type === 'link_open' ? (child.attrGet('href') ?? '') : '';
      const found = parsed.find(({ name }) => name !== INDEX && href.split('#')[0] === `${PLACE}/${addressOf(name)}`);
      if (!found || entries.some((entry) => entry.includes(`"${PLACE}/${addressOf(found.name)}"`))) continue;
      const current = addressOf(found.name) === address ? ' aria-current="page"' : '';
      entries.push(`<a href="${PLACE}/${addressOf(found.name)}"${current}>${escaped(found.title)}</a>`);
    }
  }
  return entries.join('\n');
}

const template = readFileSync(join(HERE, 'page.html'), 'utf8');
for (const { name, tokens, title } of parsed) {
  const address = addressOf(name);
  const page = template
    .replaceAll('{{title}}', () => escaped(title))
    .replaceAll('{{style}}', `${PLACE}/${style}`)
    .replaceAll('{{script}}', `${PLACE}/${script}`)
    .replaceAll('{{sections}}', `${PLACE}/${searched}`)
    .replace('{{contents}}', () => contentsFor(address))
    .replace('{{document}}', () => markdown.renderer.render(tokens, markdown.options, {}));
  const file = join(OUT, `${address === '' ? 'index' : address}.html`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, page);
}
for (const name of copied) {
  const file = join(OUT, name.slice('docs/'.length));
  mkdirSync(dirname(file), { recursive: true });
  cpSync(join(ROOT, name), file);
}

const files = readdirSync(OUT, { recursive: true, encoding: 'utf8' })
  .map((name) => name.replaceAll('\\', '/'))
  .filter((name) => TYPES[extname(name)] !== undefined)
  .sort();
for (const name of files.filter((file) => !file.endsWith('.png'))) {
  const octets = readFileSync(join(OUT, name));
  writeFileSync(
    join(OUT, `${name}.br`),
    brotliCompressSync(octets, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  );
  writeFileSync(join(OUT, `${name}.gz`), gzipSync(octets, { level: 9 }));
}
const assets = files.filter((name) => name !== 'index.html').map((name) => [name, TYPES[extname(name)]]);
writeFileSync(join(OUT, 'manifest.json'), JSON.stringify({ files: Object.fromEntries(assets), screens: {} }, null, 2));
