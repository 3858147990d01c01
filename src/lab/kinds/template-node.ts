/** The part of a template that goes to the nodes made from it. */
import { z } from 'zod';
import { CONSOLE_TYPES } from './console-types.js';
import { customAdapters } from './custom-adapters.js';
import type { NodeKind, Properties } from './node-kind.js';

/** The settings that nodes have beside their properties; whatever does not fit is left out. */
const settings = z.object({
  console_type: z.enum(CONSOLE_TYPES).optional().catch(undefined),
  console_auto_start: z.boolean().optional().catch(undefined),
  custom_adapters: customAdapters.optional().catch(undefined),
  first_port_name: z.string().optional().catch(undefined),
  port_name_format: z.string().optional().catch(undefined),
  port_segment_size: z.int().min(0).optional().catch(undefined),
});

interface TemplateNode extends z.infer<typeof settings> {
  readonly properties: Properties;
  /** Settings that act once, when the node is created. */
  readonly inputs: Properties;
}

/** Empty texts of a template mean that the node has the default of its kind, as in the reference. */
export function nodeOfTemplate(
  { properties, creation }: Pick<NodeKind, 'properties' | 'creation'>,
  template: Properties,
): TemplateNode {
  const { properties: own, ...flat } = template;
  const given = { ...(typeof own === 'object' ? own : {}), ...flat };
  const inputs = [...Object.keys(creation?.files ?? {}), ...Object.keys(creation?.schema.shape ?? {})];
  return {
    ...settings.parse(template),
    properties: chosen(given, Object.keys(properties.shape)),
    inputs: chosen(given, inputs),
  };
}

function chosen(given: Properties, names: readonly string[]): Properties {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = given[name];
      return value === undefined || value === null || value === '' ? [] : [[name, value]];
    }),
  );
}
