/** `/accounts/{account_id}/dns_templates` (ours): named sets of records with variables, applied to zones; and as YAML. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import { success } from '../envelope.js';
import { onePage } from '../paging.js';
import { switchValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { accountResource } from '../resource.js';
import { answersList, answersOne, failureEnvelope } from '../schema.js';
import { application, appliedZone, applyBody, importQuery, template, templateBody, templateParams } from './schema.js';
import { applicationViews, appliedZoneView, MOST_LISTED, templateView } from './view.js';

const tags = ['DNS templates'];
const PATH = 'dns_templates';
const ALL = `/accounts/:account_id/${PATH}`;
const ONE = `${ALL}/:template_id`;
const YAML = 'application/yaml';

export const templateRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  accountResource(app, contextOf, {
    ...{ tags, isPaged: true, oneCommit: true, area: 'dns', tagOf: templateTag },
    ...{ path: PATH, id: 'template_id', one: 'a template', many: 'templates' },
    ...{ params: templateParams, item: template, body: templateBody, view: templateView },
    ...{ list: listTemplates, create: createTemplate, get: getTemplate, replace: replaceTemplate },
    remove: deleteTemplate,
  });
  addApplication(app, contextOf);
  addZones(app, contextOf);
  addImport(app, contextOf);
  addExport(app, contextOf);
};

function addApplication(app: RouteScope, contextOf: ContextOf): void {
  app.post(
    `${ONE}/apply`,
    {
      // Each zone is examined by itself: a credential for some zones applies templates to these.
      config: { area: 'any', objectState: 'write' },
      schema: {
        tags,
        summary: 'Apply a template to zones, or preview what it would do',
        params: templateParams,
        body: applyBody,
        response: answersOne(z.array(application)),
      },
    },
    async (request) => {
      const context = contextOf(request);
      const { account_id: account, template_id: id } = request.params;
      const results = await applyTemplate(context, account, id, request.body, MOST_LISTED);
      return success(await inSlices(context.clock, applicationViews(results)));
    },
  );
}

function addZones(app: RouteScope, contextOf: ContextOf): void {
  app.get(
    `${ONE}/zones`,
    {
      config: { area: 'dns' },
      schema: {
        tags,
        summary: 'List zones to which a template was applied',
        params: templateParams,
        response: answersList(appliedZone),
      },
    },
    async (request) => {
      const { account_id: account, template_id: id } = request.params;
      return onePage((await listAppliedZones(contextOf(request), account, id)).map(appliedZoneView));
    },
  );
}

function addImport(app: RouteScope, contextOf: ContextOf): void {
  app.post(
    `${ALL}/import`,
    {
      bodyLimit: MOST_TEXT_OCTETS + 1024,
      config: { area: 'dns', objectState: 'write', rawBody: true },
      schema: {
        tags,
        summary: 'Create a template from a YAML file, which is the body',
        consumes: [YAML],
        params: accountParams,
        querystring: importQuery,
        body: z.string().describe('A template as YAML, or as JSON, at most 64 KiB'),
        response: answersOne(template),
      },
    },
    async (request) => {
      const octets: unknown = request.body;
      const replace = switchValue(queryOf(request), 'replace') ?? false;
      const text = Buffer.isBuffer(octets) ? octets : Buffer.alloc(0);
      return success(templateView(await importTemplate(contextOf(request), request.params.account_id, text, replace)));
    },
  );
}

function addExport(app: RouteScope, contextOf: ContextOf): void {
  app.get(
    `${ONE}/export`,
    {
      config: { area: 'dns' },
      schema: {
        tags,
        summary: 'Export a template as YAML',
        params: templateParams,
        response: { 200: z.string().describe('YAML'), '4xx': failureEnvelope, '5xx': failureEnvelope },
      },
    },
    async (request, reply) => {
      const { account_id: account, template_id: id } = request.params;
      const text = await exportTemplate(contextOf(request), account, id);
      reply.header('content-type', YAML);
      return reply.send(text as never);
    },
  );
}
