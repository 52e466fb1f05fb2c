/** The guide: the documents as pages with a search, public as the program is. web/guide/build.js makes them. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { failure, pathOf } from '../errors.js';
import { DOCS_PATH } from '../openapi/document.js';
import { type Asset, type Assets, loadGuide } from './assets.js';
import { POLICY, send } from './routes.js';

const PLACE = `${DOCS_PATH}/guide`;
const PUBLIC = { config: { access: 'public' }, schema: { hide: true } } as const;

export const guideRoutes: FastifyPluginAsync = async (app) => {
  let guide: { readonly assets: Assets | undefined } | undefined;
  const answer = (request: FastifyRequest, reply: FastifyReply, name: string): Buffer | string => {
    // Read when somebody first wants it: most never do.
    guide ??= { assets: loadGuide() };
    const found = guide.assets && findPage(guide.assets, name);
    if (!found) throw failure('unroutable', { path: pathOf(request) });
    reply.header('cache-control', 'no-cache');
    reply.header('content-security-policy', POLICY);
    return send(found, request, reply);
  };
  // With a slash behind it, too.
  app.get(PLACE, PUBLIC, async (request, reply) => answer(request, reply, ''));
  app.get(`${PLACE}/*`, PUBLIC, async (request, reply) =>
    answer(request, reply, (request.params as { readonly '*': string })['*']),
  );
};

function findPage({ index, files }: Assets, name: string): Asset | undefined {
  return name === '' ? index : (files.get(`${name}.html`) ?? files.get(name));
}
