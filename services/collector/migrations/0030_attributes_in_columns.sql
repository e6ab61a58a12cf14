-- An attribute that fills a column of its own is not stored a second time among the others.

set local lock_timeout = '2s';

-- Which attributes are in columns alone: a byte for each, the place of its key in the list of
-- `whole_attributes`. Null where all attributes are in `attributes` and `payload`, as in rows of
-- earlier versions.
alter table spans add column left_out bytea;

-- All small attributes of a span, as they were sent: those that are stored as such, and those that
-- are in columns. A key keeps its place in the list for good; `places` has those of the columns
-- among `columns`, of which the first 7 are numbers.
create function whole_attributes(attributes jsonb, left_out bytea, columns text[]) returns jsonb
language plpgsql immutable parallel safe as $$
declare
  keys constant text[] := '{
    gen_ai.usage.input_tokens, gen_ai.usage.prompt_tokens, llm.token_count.prompt,
    llm.usage.prompt_tokens, ai.usage.inputTokens, ai.usage.promptTokens, ai.usage.tokens,
    gen_ai.usage.output_tokens, gen_ai.usage.completion_tokens, llm.token_count.completion,
    llm.usage.completion_tokens, ai.usage.outputTokens, ai.usage.completionTokens,
    gen_ai.usage.cache_read.input_tokens, gen_ai.usage.cache_read_input_tokens,
    gen_ai.usage.details.cache_read_tokens, gen_ai.usage.details.cached_tokens,
    llm.token_count.prompt_details.cache_read, llm.token_count.prompt_details.cache_input,
    ai.usage.inputTokenDetails.cacheReadTokens, ai.usage.cachedInputTokens,
    gen_ai.usage.cache_write.input_tokens, gen_ai.usage.cache_creation.input_tokens,
    gen_ai.usage.cache_creation_input_tokens, gen_ai.usage.cache_write_input_tokens,
    gen_ai.usage.details.cache_write_tokens, llm.token_count.prompt_details.cache_write,
    ai.usage.inputTokenDetails.cacheWriteTokens, gen_ai.usage.reasoning.output_tokens,
    gen_ai.usage.reasoning_tokens, gen_ai.usage.details.reasoning_tokens,
    gen_ai.usage.details.thoughts_tokens, gen_ai.usage.experimental.reasoning_tokens,
    llm.token_count.completion_details.reasoning, llm.usage.reasoning_tokens,
    ai.usage.outputTokenDetails.reasoningTokens, ai.usage.reasoningTokens,
    gen_ai.usage.audio.input_tokens, gen_ai.usage.input_audio_tokens,
    gen_ai.usage.details.input_audio_tokens, llm.token_count.prompt_details.audio,
    gen_ai.usage.audio.output_tokens, gen_ai.usage.output_audio_tokens,
    gen_ai.usage.details.output_audio_tokens, llm.token_count.completion_details.audio,
    openinference.span.kind, traceloop.span.kind, langfuse.observation.type, llm.request.type,
    ai.operationId, langsmith.span.kind, gen_ai.provider.name, gen_ai.system, llm.provider,
    llm.system, llm.vendor, ai.model.provider, gen_ai.request.model, llm.request.model_name,
    llm.model_name, llm.request.model, embedding.model_name, reranker.model_name, ai.model.id,
    langfuse.observation.model.name, gen_ai.response.model, llm.response.model_name,
    llm.response.model, ai.response.model, gen_ai.response.id, ai.response.id, llm.response.id,
    logfire.msg, gen_ai.agent.name, agent.name, agent_role, agent_name, graph.node.id, task_id,
    gen_ai.task.id, task_name, task_key, gen_ai.task.name, ai.telemetry.functionId,
    gen_ai.tool.name, tool.name, tool_name, ai.toolCall.name, crew_id, kickoff_id,
    gen_ai.conversation.id, session.id, langfuse.session.id, gcp.vertex.agent.session_id,
    traceloop.association.properties.session_id, ai.telemetry.metadata.sessionId,
    mastra.metadata.sessionId, user.id, enduser.id, langfuse.user.id,
    traceloop.association.properties.user_id, ai.telemetry.metadata.userId,
    mastra.metadata.userId, gen_ai.user, llm.user, gen_ai.workflow.name, traceloop.workflow.name,
    error.type, exception.type
  }';
  places constant int2[] := '{
    1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5,
    5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 9, 9, 9, 9, 9, 9, 10, 10, 10, 10,
    10, 10, 10, 10, 11, 11, 11, 11, 12, 12, 12, 13, 14, 14, 14, 14, 14, 15, 15, 16, 16, 16, 16,
    17, 17, 17, 17, 18, 19, 20, 20, 20, 20, 20, 20, 20, 21, 21, 21, 21, 21, 21, 21, 21, 22, 22,
    23, 23
  }';
  members text := '';
  code int;
  value text;
begin
  for byte in 0 .. length(left_out) - 1 loop
    code := get_byte(left_out, byte);
    value := columns[places[code]];
    continue when value is null;
    members := members || ',"' || keys[code] || '":'
      || case when places[code] <= 7 then value else to_json(value)::text end;
  end loop;
  return ('{' || substr(members, 2) || '}')::jsonb || coalesce(attributes, '{}');
end
$$;

-- As in 0022, with whole attributes. Those that are stored as such are `other_attributes`, for
-- readers that need no others: to put all together takes longer.
create or replace function refresh_span_views() returns void language plpgsql as $$
declare
  end_time text := 'start_time + duration_ns / 1000 * interval ''1 microsecond'' as end_time';
  attributes text := 'case when spans.left_out is null then spans.attributes
    else whole_attributes(spans.attributes, spans.left_out, array[
        spans.input_tokens::text, spans.output_tokens::text, spans.cache_read_tokens::text,
        spans.cache_write_tokens::text, spans.reasoning_tokens::text,
        spans.audio_input_tokens::text, spans.audio_output_tokens::text, spans.operation,
        spans.provider, spans.request_model, spans.response_model, spans.response_id,
        spans.title, spans.agent, spans.task_id, spans.task, spans.tool, spans.crew_id,
        spans.kickoff_id, spans.session_id, spans.user_id, spans.workflow, spans.error_type
      ]) end as attributes';
  columns text;
begin
  select string_agg(
      case name
        when 'end_time' then end_time
        when 'attributes' then attributes
        when 'other_attributes' then 'spans.attributes as other_attributes'
        else format('spans.%I', name)
      end,
      ', ' order by is_new, place
    )
  into columns
  from (
    select attname as name, attnum as place, false as is_new
    from pg_attribute where attrelid = 'live_spans'::regclass and attnum > 0
    union all
    select attname, attnum, true
    from pg_attribute
    where attrelid = 'spans'::regclass and attnum > 0 and not attisdropped
      and attname not in (select attname from pg_attribute where attrelid = 'live_spans'::regclass)
    union all
    select 'other_attributes', 32767, true
    where not exists (
      select from pg_attribute
      where attrelid = 'live_spans'::regclass and attname = 'other_attributes'
    )
  ) as shown;

  -- Expired spans are gone at once here, though their day's partition may live some hours longer.
  execute format(
    'create or replace view live_spans with (security_invoker = true) as select %s from spans
     where start_time >= now() - (select weeks * interval ''1 week'' from retention)
       and ((select reading_organization()) is null
         or organization = (select reading_organization()))',
    columns
  );

  -- Tokens and cost by call. Most calls have no span below them and no call of another source
  -- beside them, and nothing more is looked at. What lies there begins an hour before a call
  -- (clocks differ) to a day after it has ended: without these bounds each call would be looked up
  -- in the indexes of every day.
  execute '
    create or replace view llm_calls with (security_invoker = true) as
    select outer_call.*
    from live_spans as outer_call
    where llm_call
      and (
        not exists (
          select from spans as child
          where child.trace_id = outer_call.trace_id
            and (child.parent_span_id = outer_call.span_id
              or (outer_call.input_tokens > 0 or outer_call.output_tokens > 0) is not true
              or child.llm_call
                and child.parent_span_id is not distinct from outer_call.parent_span_id
                and (child.scope_id, child.name) <> (outer_call.scope_id, outer_call.name))
            and child.organization = outer_call.organization
            and child.start_time >= outer_call.start_time - interval ''1 hour''
            and child.start_time
              <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
        )
        or outer_call.span_id <> all ((
          select uncounted_calls(
            array_agg(span_id), array_agg(parent_span_id), array_agg(start_time),
            array_agg(duration_ns), array_agg(call_role(llm_call, status, operation_kind)),
            array_agg(call_usage(
              llm_call, call_model(llm_call, request_model, response_model), input_tokens,
              output_tokens
            )),
            array_agg(call_model(llm_call, request_model, response_model)),
            array_agg(scope_id || '' '' || name), array_agg(response_id)
          )
          from spans as near
          where near.trace_id = outer_call.trace_id
            and near.organization = outer_call.organization
            and near.start_time >= outer_call.start_time - interval ''1 hour''
            and near.start_time
              <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
        )::int8[])
      )';
end
$$;

select refresh_span_views();
