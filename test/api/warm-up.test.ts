/** What a spare process loads in advance. */
import { createRequire } from 'node:module';
import t from 'tap';
import { warmUp } from '../../src/api/warm-up.js';

t.test('what fastify loads late is loaded before it is needed', async (t) => {
  const { cache } = createRequire(import.meta.url);
  const late = (): string[] =>
    ['@fastify/static', '@fastify/ajv-compiler'].filter((name) =>
      Object.keys(cache).some((file) => file.includes(`node_modules/${name}/`)),
    );
  t.strictSame(late(), []);
  await warmUp();
  t.strictSame(late(), ['@fastify/static', '@fastify/ajv-compiler']);
});
