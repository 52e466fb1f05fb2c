/** `/accounts/{account_id}/dns_templates` (ours): named sets of records with variables, applied to zones; and as YAML. */
import { z } from 'zod';
import { inSlices } from '../../base/slices.js';
import { applyTemplate } from '../../control/templates/apply.js';
import {
  createTemplate,
  deleteTemplate,
  getTemplate,
  listAppliedZones,
  listTemplates,
  replaceTemplate,
  templateTag,
} from '../../control/templates/templates.js';
import { MOST_TEXT_OCTETS } from '../../control/templates/text.js';
import { exportTemplate, importTemplate } from '../../control/templates/text-threads.js';
import { accountParams } from '../accounts/schema.js';
import { onePage } from '../paging.js';
import { switchValue } from '../query.js';
import { queryOf } from '../request.js';
import { accountResource } from '../routing/resource.js';
import { type Routes, routes } from '../routing/route.js';
import { failureEnvelope } from '../schema.js';
import { application, appliedZone, applyBody, importQuery, template, templateBody, templateParams } from './schema.js';
import { applicationViews, appliedZoneView, MOST_LISTED, templateView } from './view.js';

const PATH = 'dns_templates';
const ALL = `/accounts/:account_id/${PATH}`;
const ONE = `${ALL}/:template_id`;
const YAML = 'application/yaml';

export const templateRoutes = routes({ tags: ['DNS templates'], area: 'dns' }, (app) => {
  accountResource(app, {
    ...{ isPaged: true, oneCommit: true, tagOf: templateTag },
    ...{ path: PATH, id: 'template_id', one: 'a template', many: 'templates' },
    ...{ params: templateParams, item: template, body: templateBody, view: templateView },
    ...{ list: listTemplates, create: createTemplate, get: getTemplate, replace: replaceTemplate },
    remove: deleteTemplate,
  });
  app.post(
    `${ONE}/apply`,
    {
      // Each zone is examined by itself: a credential for some zones applies templates to these.
      area: 'any',
      objectState: 'write',
      summary: 'Apply a template to zones, or preview what it would do',
      params: templateParams,
      body: applyBody,
      answer: z.array(application),
    },
    async (ctx, { params: { account_id: account, template_id: id }, body }) => {
      const results = await applyTemplate(ctx, account, id, body, MOST_LISTED);
      return await inSlices(ctx.clock, applicationViews(results));
    },
  );
  app.get(
    `${ONE}/zones`,
    { summary: 'List zones to which a template was applied', params: templateParams, list: appliedZone },
    async (ctx, request) => {
      const { account_id: account, template_id: id } = request.params;
      return onePage((await listAppliedZones(ctx, account, id)).map(appliedZoneView), queryOf(request));
    },
  );
  app.post(
    `${ALL}/import`,
    {
      objectState: 'write',
      rawBody: true,
      summary: 'Create a template from a YAML file, which is the body',
      consumes: [YAML],
      params: accountParams,
      querystring: importQuery,
      body: z.string().describe('A template as YAML, or as JSON, at most 64 KiB'),
      answer: template,
      bodyLimit: MOST_TEXT_OCTETS + 1024,
    },
    async (ctx, request) => {
      const octets: unknown = request.body;
      const replace = switchValue(queryOf(request), 'replace') ?? false;
      const text = Buffer.isBuffer(octets) ? octets : Buffer.alloc(0);
      return templateView(await importTemplate(ctx, request.params.account_id, text, replace));
    },
  );
  addExport(app);
});

function addExport(app: Routes): void {
  app.get(
    `${ONE}/export`,
    {
      summary: 'Export a template as YAML',
      params: templateParams,
      response: { 200: z.string().describe('YAML'), '4xx': failureEnvelope, '5xx': failureEnvelope },
    },
    async (ctx, { params: { account_id: account, template_id: id } }, reply) => {
      const text = await exportTemplate(ctx, account, id);
      reply.header('content-type', YAML);
      return reply.send(text as never);
    },
  );
}
