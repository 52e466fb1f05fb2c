/** Every screen of the dashboard in Chromium: drawn without complaints, accessible, in light and dark, wide and narrow. */
import t, { type Test } from 'tap';
import { type Dashboard, noBrowser, startDashboard } from '../../support/browser.js';

interface Visit {
  /** Of its pictures. */
  readonly name: string;
  readonly path: string;
  /** A text that stands on it when it is drawn. */
  readonly shows: string;
}

/** One line for each screen. */
const VISITS: readonly Visit[] = [
  { name: 'zones', path: '/zones', shows: 'example.com' },
  { name: 'records', path: '/zones/example.com/records', shows: 'v=spf1' },
  { name: 'history', path: '/zones/example.com/history', shows: 'Records changed' },
  { name: 'explain', path: '/zones/example.com/explain?name=www.example.com&type=A', shows: 'NOERROR' },
];

/** The data that the screens show. */
async function prepare({ call }: Dashboard): Promise<void> {
  const zone = await call('POST', '/zones', { name: 'example.com' });
  const records = [
    { type: 'A', name: '@', content: '192.0.2.10', ttl: 300 },
    { type: 'CNAME', name: 'www', content: 'example.com', ttl: 3600, comment: 'The shop' },
    { type: 'MX', name: '@', content: 'mail.example.net', priority: 10, ttl: 3600 },
    { type: 'TXT', name: '@', content: '"v=spf1 mx -all"', ttl: 3600, tags: ['team:mail', 'reviewed'] },
  ];
  await call('POST', `/zones/${zone.id}/dns_records/batch`, { posts: records });
  for (const name of ['example.org', 'shop.example', 'xn--bcher-kva.example']) await call('POST', '/zones', { name });
}

t.test('the screens', { skip: noBrowser, timeout: 300_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  await prepare(dashboard);
  for (const { name, path, shows } of VISITS) {
    const page = await dashboard.enter(path);
    await page.getByText(shows).first().waitFor();
    await dashboard.inspect(page, name);
    await page.setViewportSize({ width: 360, height: 740 });
    const width = await page.evaluate('document.documentElement.scrollWidth');
    t.ok(Number(width) <= 360, `${name} fits into 360 pixels: ${width}`);
    await dashboard.inspect(page, `${name}-narrow`);
    await page.context().close();
  }
});
