//! JSON Schemas of what commands print, for the documents.

use roundelay_sim::scenario::Interval;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::figures::{CLASS, Figure, INDICES, KIND, LIVES, SERVICE, SOURCE, TRANSFER};
use crate::json::{PLAIN, Printed};

/// The JSON Schema of what [`json`](crate::json()) prints, as text.
pub fn schema<T: Printed + JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut all = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    all["$id"] = format!("urn:roundelay:{}", T::SCHEMA.replace('/', ":")).into();
    all["title"] = T::SCHEMA.into();
    // Where lines are of several kinds, the alternatives have the keys.
    name(&mut all, T::SCHEMA);
    serde_json::to_string_pretty(&all).expect(PLAIN) + "\n"
}

/// Adds the key with the schema's name to an object.
fn name(object: &mut Value, name: &str) {
    let key = json!({
        "description": "Name and version of the schema of this output.",
        "const": name,
    });
    object["type"] = "object".into();
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.insert("schema".to_owned(), key);
    } else {
        object["properties"] = json!({ "schema": key });
    }
    match object.get_mut("required").and_then(Value::as_array_mut) {
        Some(required) => required.insert(0, "schema".into()),
        None => object["required"] = json!(["schema"]),
    }
}

/// The schema of the means of these figures.
fn means<R: 'static>(
    generator: &mut SchemaGenerator,
    figures: impl IntoIterator<Item = &'static Figure<R>>,
) -> Schema {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for Figure { label, .. } in figures {
        let mut interval = generator.subschema_for::<Option<Interval>>();
        interval.insert("description".to_owned(), label.about.into());
        properties.insert(label.name.to_owned(), interval.to_value());
        required.push(label.name);
    }
    json_schema!({ "type": "object", "properties": properties, "required": required })
}

pub(crate) fn of_sources(generator: &mut SchemaGenerator) -> Schema {
    means(generator, SOURCE.iter().chain(TRANSFER))
}

pub(crate) fn of_indices(generator: &mut SchemaGenerator) -> Schema {
    means(generator, INDICES)
}

pub(crate) fn of_lives(generator: &mut SchemaGenerator) -> Schema {
    means(generator, LIVES)
}

pub(crate) fn of_classes(generator: &mut SchemaGenerator) -> Schema {
    means(generator, CLASS)
}

pub(crate) fn of_service(generator: &mut SchemaGenerator) -> Schema {
    means(generator, SERVICE)
}

pub(crate) fn of_kind(generator: &mut SchemaGenerator) -> Schema {
    means(generator, KIND)
}
