/**
 * `/graphql` answers one query: the amount of data in a bucket, which wrangler requests for `r2 bucket info` (v4: §13).
 * There are no other analytics; other queries get no data.
 */
import { z } from 'zod';
import { AppError } from '../../base/errors.js';
import { findChoice } from '../../bucket/bucket-name.js';
import { type BucketUsage, bucketUsage } from '../../bucket/buckets.js';
import type { Context } from '../../control/kernel/context.js';
import { JURISDICTIONS } from '../../store/objects/buckets.js';
import type { AddRoutes } from '../routing/route.js';
import { answers } from '../schema.js';
import { printTime } from '../times.js';

const storageGroup = z.object({
  max: z.object({ objectCount: z.int(), payloadSize: z.int(), metadataSize: z.int() }),
  dimensions: z.object({ datetime: z.string() }),
});

const answer = z.object({
  data: z
    .object({ viewer: z.object({ accounts: z.array(z.object({ r2StorageAdaptiveGroups: z.array(storageGroup) })) }) })
    .nullable(),
  errors: z.array(z.object({ message: z.string() })).optional(),
});

/** The one supported query. Every other query has the same shape and gets no data. */
const storageQuestion = z.object({
  query: z.string().regex(/\br2StorageAdaptiveGroups\b/),
  variables: z.object({ accountTag: z.string(), filter: z.object({ bucketName: z.string() }) }),
});

/** For a non-default jurisdiction, wrangler puts it before the name; bucket names contain no underscore. */
const NAME = /^(?:([a-z-]+)_)?([a-z0-9-]+)$/;

export const graphqlRoutes: AddRoutes = (app) => {
  app.post(
    '/graphql',
    {
      area: 'any',
      tags: ['Unsupported'],
      summary: 'Get the usage of a bucket; there are no other analytics',
      body: z.object({
        query: z.unknown().optional().meta({ type: 'string' }),
        variables: z.unknown().optional().meta({ type: 'object' }),
      }),
      response: answers(answer),
    },
    async (ctx, { body }) => {
      const question = storageQuestion.safeParse(body);
      if (!question.success) return { data: null };
      const { accountTag, filter } = question.data.variables;
      return answerStorage(ctx, accountTag, filter.bucketName);
    },
  );
};

async function answerStorage(context: Context, accountId: string, text: string): Promise<z.output<typeof answer>> {
  const [, before, name] = NAME.exec(text) ?? [];
  const jurisdiction = findChoice(JURISDICTIONS, before ?? 'default');
  if (name === undefined || jurisdiction === undefined) return { data: null };
  try {
    const usage = await bucketUsage(context, accountId, name, jurisdiction);
    return { data: { viewer: { accounts: [{ r2StorageAdaptiveGroups: [group(usage, context.clock.nowUs())] }] } } };
  } catch (error) {
    if (error instanceof AppError) return { data: null, errors: [{ message: error.message }] };
    throw error;
  }
}

function group(usage: BucketUsage, nowUs: number): z.output<typeof storageGroup> {
  return {
    max: { objectCount: usage.objects, payloadSize: usage.payloadOctets, metadataSize: usage.metadataOctets },
    dimensions: { datetime: printTime(nowUs) },
  };
}
