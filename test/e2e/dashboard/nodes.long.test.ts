/** The nodes of a cluster on the overview: two programs with a real PostgreSQL, seen in Chromium. */
import t from 'tap';
import { noBrowser, startVisitor } from '../../support/browser.js';
import { copyMasterKey, KEY, makeNodes } from '../../support/cluster-nodes.js';
import { skipWithoutPostgres, startPostgres } from '../../support/postgres.js';

t.test('nodes on the overview', { skip: skipWithoutPostgres || noBrowser, timeout: 540_000 }, async (t) => {
  const postgres = await startPostgres(t);
  const make = makeNodes(t, postgres);
  const [a, b] = [make('a'), make('b')];
  t.match(await a.command('cluster', 'init'), { code: 0 });
  copyMasterKey(a, b);
  t.match(await b.command('cluster', 'join'), { code: 0 });
  await a.start();
  await b.start();
  const visitor = await startVisitor(t, a.program().api, KEY);
  const page = await visitor.enter('/overview');
  const panel = page.getByRole('region', { name: 'Nodes', exact: true }).first();
  const needs = page.getByRole('region', { name: 'What needs you' });

  await t.test('both follow', async (t) => {
    await panel.getByText('All follow').waitFor();
    await needs.getByText('No warnings.').waitFor();
    const row = panel.getByRole('row', { name: /^a This one Follows Everything nothing/ });
    await row.waitFor();
    await panel.getByRole('row', { name: /^b Follows Everything nothing \S+ \d+ \d+ s ago$/ }).waitFor();
    await panel.getByText(/Last snapshot .* MB, with change \d+ of \d+/).waitFor();
    await visitor.inspect(page, 'nodes');
    await page.setViewportSize({ width: 360, height: 740 });
    t.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 360);
    await visitor.inspect(page, 'nodes-narrow');
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  await t.test('one that is killed is gone, and the words say what to do', async (t) => {
    await b.kill();
    await panel.getByText(/It has not reported for 15 seconds or more: it is off/).waitFor({ timeout: 60_000 });
    await panel.getByText('Needs a look').waitFor();
    await needs.getByText(/Node b has not reported for \d+ s\./).waitFor();
    t.equal(await needs.getByText('No warnings.').count(), 0);
    await visitor.inspect(page, 'nodes-gone');
  });

  await t.test('without PostgreSQL', async () => {
    await postgres.signal('SIGKILL');
    await panel.getByText('PostgreSQL cannot be reached from this node.').waitFor({ timeout: 60_000 });
    await panel.getByText('are known again when PostgreSQL is back').waitFor();
    await needs.getByText('PostgreSQL cannot be reached from this node').waitFor();
  });
});
