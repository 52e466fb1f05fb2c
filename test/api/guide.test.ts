/** The guide: every page, and where its links lead. */
import t from 'tap';
import { install } from './installation.js';

const PLACE = '/docs/guide';

/** The addresses below the guide to which a page leads, with their anchors. */
const linksOf = (page: string): string[] =>
  [...page.matchAll(/(?:href|src|data-sections)="(\/docs\/guide[^"]*)"/g)].map(([, link]) => link!);

t.test('all pages, and all links in them', async (t) => {
  const { app } = await install(t, { host: '0.0.0.0' });
  t.equal((await app.inject(PLACE)).body, (await app.inject(`${PLACE}/`)).body);
  const pages = new Map<string, string>();
  const anchors: { readonly from: string; readonly link: string }[] = [];
  for (const todo = [`${PLACE}/`]; todo.length > 0; ) {
    const url = todo.pop()!;
    const { statusCode, headers, body } = await app.inject(url);
    t.equal(statusCode, 200, url);
    t.match(headers['content-security-policy'], "default-src 'self'");
    pages.set(url, body);
    for (const link of linksOf(body)) {
      if (link.includes('#')) anchors.push({ from: url, link });
      const target = link.split('#')[0]!;
      if (!pages.has(target) && !todo.includes(target)) todo.push(target);
    }
  }
  const html = [...pages.values()].filter((page) => page.startsWith('<!doctype html>'));
  t.ok(html.length > 30, `${html.length} pages`);
  for (const { from, link } of anchors) {
    const [page, anchor] = link.split('#');
    t.ok(pages.get(page!)!.includes(` id="${anchor}"`), `${from}: ${link}`);
  }
  const relative = html.flatMap((page) => [...page.matchAll(/(?:href|src)="(?!\/|#|https?:|mailto:|data:)[^"]*"/g)]);
  t.same(relative, [], 'every address holds from any page');
  t.notOk(
    html.find((page) => /\{\{\w|<script(?! type="module" src="\/)| style=/.test(page)),
    'nothing is inline',
  );
});

t.test('what is searched', async (t) => {
  const { app } = await install(t, { host: '0.0.0.0' });
  const sections = linksOf((await app.inject(`${PLACE}/`)).body).find((link) => link.includes('sections-'))!;
  const found = (await app.inject(sections)).json() as { link: string; heading: string; text: string }[];
  t.match(
    found.find(({ heading }) => heading === 'Your first zone'),
    { link: `${PLACE}/tutorials/first-zone`, text: /zoneplane/ },
  );
});

t.test('what is not there', async (t) => {
  const { app } = await install(t, { host: '0.0.0.0' });
  for (const name of ['nothing', 'manifest.json', '..%2fmanifest.json', 'index.html', 'toString']) {
    t.equal((await app.inject(`${PLACE}/${name}`)).statusCode, 404, name);
  }
  const { etag } = (await app.inject(`${PLACE}/people`)).headers;
  const again = await app.inject({ url: `${PLACE}/people`, headers: { 'if-none-match': String(etag) } });
  t.equal(again.statusCode, 304);
});
