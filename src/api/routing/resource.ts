/** The routes of a plain resource of an account, from one declaration: a list, and what is done with one of its members. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Context } from '../../control/kernel/context.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import { onePage, type PageSizes, pageFrom } from '../paging.js';
import type { Query } from '../query.js';
import { queryOf } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import type { Routes } from './route.js';

export interface AccountResource<Item, Body, Change = Body> {
  /** Below the account, such as `secondary_dns/acls`. */
  readonly path: string;
  /** The parameter with the identifier of one. */
  readonly id: string;
  readonly params: z.ZodType;
  /** For the documentation, such as `an ACL` and `ACLs`. */
  readonly one: string;
  readonly many: string;
  readonly item: z.ZodType;
  readonly body: z.ZodType<Body>;
  /** The body of a replacement; the same if absent. */
  readonly change?: z.ZodType<Change>;
  /** The query parameters of the list. */
  readonly query?: z.ZodType;
  /** Whether the list says which page it is (v4): a single page, or one of pages of these sizes. */
  readonly isPaged: boolean | PageSizes;
  /** Whether a write is one commit, see {@link FastifyContextConfig}. */
  readonly oneCommit: boolean;
  /** The entity tag of one: writes then are dry runs on request, and depend on conditions. */
  tagOf?(item: Item): string;
  view(item: Item): unknown;
  list(ctx: Context, account: string, query: Query): Promise<readonly Item[]>;
  create(ctx: Context, account: string, body: Body): Promise<Item>;
  get(ctx: Context, account: string, id: string): Promise<Item>;
  /** Absent where nothing can be changed. */
  replace?(ctx: Context, account: string, id: string, body: Change): Promise<Item>;
  remove(ctx: Context, account: string, id: string): Promise<{ readonly id: string }>;
}

export function accountResource<Item, Body, Change = Body>(
  app: Routes,
  resource: AccountResource<Item, Body, Change>,
): void {
  const { params, one, many, item, body, query, isPaged, oneCommit, view, replace, tagOf } = resource;
  const all = `/accounts/:account_id/${resource.path}`;
  const single = `${all}/:${resource.id}`;
  const reads = { ...(tagOf && ({ objectState: 'read' } as const)) };
  const writes = { ...(tagOf && ({ objectState: 'write' } as const)), ...(oneCommit && { oneCommit: true as const }) };
  const shownTo = (reply: FastifyReply, found: Item): unknown => {
    if (tagOf) reply.header('etag', tagOf(found));
    return view(found);
  };
  const idsOf = (params: unknown): readonly [account: string, id: string] => {
    const known = params as Record<string, string>;
    return [known.account_id!, known[resource.id]!];
  };
  const response = isPaged ? answersList(item) : answersOne(z.array(item));

  app.get(
    all,
    { summary: `List ${many}`, params: accountParams, response, ...(query && { querystring: query }) },
    async (ctx, request) => {
      const asked = queryOf(request);
      const items = await resource.list(ctx, request.params.account_id, asked);
      if (!isPaged) return success(items.map(view));
      return isPaged === true ? onePage(items.map(view), asked) : pageFrom(asked, isPaged, items, view);
    },
  );
  app.post(
    all,
    { ...writes, summary: `Create ${one}`, params: accountParams, body, answer: item },
    async (ctx, { params, body }, reply) => shownTo(reply, await resource.create(ctx, params.account_id, body as Body)),
  );
  app.get(single, { ...reads, summary: `Get ${one}`, params, answer: item }, async (ctx, { params }, reply) =>
    shownTo(reply, await resource.get(ctx, ...idsOf(params))),
  );
  if (replace) {
    app.put(
      single,
      { ...writes, summary: `Replace ${one}`, params, body: resource.change ?? body, answer: item },
      async (ctx, { params, body }, reply) => shownTo(reply, await replace(ctx, ...idsOf(params), body as Change)),
    );
  }
  app.delete(single, { ...writes, summary: `Delete ${one}`, params, answer: onlyId }, async (ctx, { params }) =>
    resource.remove(ctx, ...idsOf(params)),
  );
}
