//! Tables as Arrow: the columns of the Parquet files, through the PyCapsule interface.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt32Array, UInt64Array, make_array,
};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList};
use roundelay_report as report;
use roundelay_report::Cells;

/// The capsule's name in Arrow's PyCapsule interface.
const STREAM: &CStr = c"arrow_array_stream";

/// A table with named columns.
#[pyclass(frozen, module = "roundelay._native")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(table: &report::Table, metadata: &[(String, String)]) -> PyResult<Self> {
        let fields: Vec<_> = table.header.iter().map(field).collect();
        let metadata: HashMap<_, _> = metadata.iter().cloned().collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
        let batch = |columns: &Vec<report::Column>| {
            RecordBatch::try_new(schema.clone(), columns.iter().map(array).collect())
        };
        let batches = table
            .batches
            .iter()
            .map(batch)
            .collect::<Result<_, ArrowError>>()
            .map_err(failed)?;
        Ok(Self { schema, batches })
    }
}

/// A value in a column that comes from Python.
#[derive(FromPyObject)]
pub(crate) enum Cell {
    Whole(i64),
    Number(f64),
    Text(String),
}

/// An array of whole numbers, of numbers or of texts, depending on the values.
fn array_of(cells: &[Option<Cell>]) -> ArrayRef {
    let given = || cells.iter().flatten();
    if given().any(|cell| matches!(cell, Cell::Text(_))) {
        let text = |cell: &Cell| match cell {
            Cell::Whole(value) => value.to_string(),
            Cell::Number(value) => value.to_string(),
            Cell::Text(value) => value.clone(),
        };
        return Arc::new(
            cells
                .iter()
                .map(|cell| cell.as_ref().map(text))
                .collect::<StringArray>(),
        );
    }
    let whole = |cell: &Option<Cell>| match cell {
        None => Some(None),
        Some(Cell::Whole(value)) => Some(Some(*value)),
        Some(_) => None,
    };
    if let Some(values) = cells
        .iter()
        .map(whole)
        .collect::<Option<Int64Array>>()
        .filter(|_| given().next().is_some())
    {
        return Arc::new(values);
    }
    let number = |cell: &Cell| match cell {
        Cell::Whole(value) => *value as f64,
        Cell::Number(value) => *value,
        Cell::Text(_) => f64::NAN,
    };
    Arc::new(
        cells
            .iter()
            .map(|cell| cell.as_ref().map(number))
            .collect::<Float64Array>(),
    )
}

/// A point of a sweep: keys with values, and rows.
type Point = (Vec<(String, String)>, Vec<report::SweepRow>);

impl Table {
    /// Rows of a sweep. Swept keys are columns of whole numbers, of numbers or of texts, because
    /// readers of Hive's folders take them so.
    pub(crate) fn of_sweep(points: &[Point]) -> PyResult<Self> {
        let keys: Vec<&str> = points.first().map_or_else(Vec::new, |(labels, _)| {
            labels.iter().map(|(key, _)| key.as_str()).collect()
        });
        let mut fields: Vec<Field> = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            let values: Vec<&str> = points
                .iter()
                .flat_map(|(labels, rows)| rows.iter().map(move |_| labels[number].1.as_str()))
                .collect();
            let whole: Option<Vec<i64>> = values.iter().map(|value| value.parse().ok()).collect();
            let plain = || {
                values
                    .iter()
                    .map(|value| value.parse().ok())
                    .collect::<Option<Vec<f64>>>()
            };
            let array: ArrayRef = match whole {
                Some(whole) => Arc::new(Int64Array::from(whole)),
                None => plain().map_or_else(
                    || Arc::new(StringArray::from(values.clone())) as ArrayRef,
                    |plain| Arc::new(Float64Array::from(plain)),
                ),
            };
            fields.push(Field::new(*key, array.data_type().clone(), false));
            arrays.push(array);
        }
        let rows: Vec<report::SweepRow> = points
            .iter()
            .flat_map(|(_, rows)| rows.iter().cloned())
            .collect();
        let table = report::sweep_table(&rows);
        fields.extend(table.header.iter().map(field));
        arrays.extend(table.batches[0].iter().map(array));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(failed)?;
        Ok(Self {
            schema,
            batches: vec![batch],
        })
    }
}

fn failed(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn field(column: &report::Column) -> Field {
    let (kind, is_optional) = match column.cells() {
        Cells::Signed(_) => (DataType::Int64, false),
        Cells::OptionalSigned(_) => (DataType::Int64, true),
        Cells::Small(_) => (DataType::UInt32, false),
        Cells::Unsigned(_) => (DataType::UInt64, false),
        Cells::OptionalUnsigned(_) => (DataType::UInt64, true),
        Cells::Numbers(_) => (DataType::Float64, false),
        Cells::OptionalNumbers(_) => (DataType::Float64, true),
        Cells::Flags(_) => (DataType::Boolean, false),
        Cells::Texts(_) => (DataType::Utf8, false),
    };
    Field::new(column.name(), kind, is_optional)
}

fn array(column: &report::Column) -> ArrayRef {
    match column.cells() {
        Cells::Signed(values) => Arc::new(Int64Array::from(values.to_vec())),
        Cells::OptionalSigned(values) => Arc::new(Int64Array::from(values.to_vec())),
        Cells::Small(values) => Arc::new(UInt32Array::from(values.to_vec())),
        Cells::Unsigned(values) => Arc::new(UInt64Array::from(values.to_vec())),
        Cells::OptionalUnsigned(values) => Arc::new(UInt64Array::from(values.to_vec())),
        Cells::Numbers(values) => Arc::new(Float64Array::from(values.to_vec())),
        Cells::OptionalNumbers(values) => Arc::new(Float64Array::from(values.to_vec())),
        Cells::Flags(values) => Arc::new(BooleanArray::from(values.to_vec())),
        Cells::Texts(values) => Arc::new(StringArray::from(values)),
    }
}

#[pymethods]
impl Table {
    /// A table with named columns, equally long.
    #[new]
    fn of_columns(columns: Vec<(String, Vec<Option<Cell>>)>) -> PyResult<Self> {
        let arrays: Vec<ArrayRef> = columns.iter().map(|(_, cells)| array_of(cells)).collect();
        let fields: Vec<_> = columns
            .iter()
            .zip(&arrays)
            .map(|((name, _), array)| Field::new(name, array.data_type().clone(), true))
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(failed)?;
        Ok(Self {
            schema,
            batches: vec![batch],
        })
    }

    /// The table as a stream of Arrow arrays. The requested schema is ignored, because there is one
    /// form.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(
            batches,
            self.schema.clone(),
        )));
        // PyO3 0.28, the last version for Python 3.13t, has this name for the call too.
        #[allow(deprecated, reason = "new_with_value is missing in PyO3 0.28")]
        PyCapsule::new(py, stream, Some(STREAM.to_owned()))
    }

    /// The columns' names.
    fn names(&self) -> Vec<&str> {
        self.schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect()
    }

    /// A column's values, None where there is none.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let place = self
            .schema
            .index_of(name)
            .map_err(|_| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))?;
        let all = PyList::empty(py);
        for batch in &self.batches {
            append(&all, batch.column(place))?;
        }
        Ok(all)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Pickled<'py>,))> {
        let field = |field: &Arc<Field>| {
            (
                field.name().clone(),
                field.data_type().to_string(),
                field.is_nullable(),
            )
        };
        let bytes = |buffer: &Buffer| PyBytes::new(py, buffer);
        let array = |array: &ArrayRef| {
            let data = array.to_data();
            let bits = data.nulls().map(|bits| bytes(&bits.inner().sliced()));
            (data.len(), bits, data.buffers().iter().map(bytes).collect())
        };
        let batches = self
            .batches
            .iter()
            .map(|batch| batch.columns().iter().map(array).collect())
            .collect();
        let fields = self.schema.fields().iter().map(field).collect();
        let metadata = self
            .schema
            .metadata()
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        Ok((
            py.import("roundelay._native")?.getattr("table")?,
            ((fields, metadata, batches),),
        ))
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// An array in a pickle, as Arrow lays it out: length, bits of the values that are there, buffers.
type PickledArray<'py> = (usize, Option<Bound<'py, PyBytes>>, Vec<Bound<'py, PyBytes>>);

/// A table in a pickle: columns (names, types and whether values may be missing), metadata, and
/// batches.
type Pickled<'py> = (
    Vec<(String, String, bool)>,
    BTreeMap<String, String>,
    Vec<Vec<PickledArray<'py>>>,
);

/// Takes a table out of a pickle.
///
/// # Errors
/// It is no table.
#[pyfunction]
pub(crate) fn table(pickled: Pickled<'_>) -> PyResult<Table> {
    let (fields, metadata, batches) = pickled;
    let field = |(name, kind, is_optional): (String, String, bool)| {
        Ok(Field::new(name, kind.parse()?, is_optional))
    };
    let fields: Vec<Field> = fields
        .into_iter()
        .map(field)
        .collect::<Result<_, ArrowError>>()
        .map_err(failed)?;
    let schema = Arc::new(Schema::new_with_metadata(
        fields,
        HashMap::from_iter(metadata),
    ));
    // A copy, aligned.
    let buffer = |bytes: Bound<'_, PyBytes>| Buffer::from(bytes.as_bytes());
    let array = |(field, (len, bits, buffers)): (&Arc<Field>, PickledArray<'_>)| {
        let buffers = buffers.into_iter().map(buffer).collect();
        ArrayData::try_new(
            field.data_type().clone(),
            len,
            bits.map(buffer),
            0,
            buffers,
            Vec::new(),
        )
        .map(make_array)
    };
    let batch = |columns: Vec<_>| {
        let arrays = schema
            .fields()
            .iter()
            .zip(columns)
            .map(array)
            .collect::<Result<_, ArrowError>>()?;
        RecordBatch::try_new(schema.clone(), arrays)
    };
    let batches = batches
        .into_iter()
        .map(batch)
        .collect::<Result<_, ArrowError>>()
        .map_err(failed)?;
    Ok(Table { schema, batches })
}

fn append(all: &Bound<'_, PyList>, array: &ArrayRef) -> PyResult<()> {
    let any = array.as_any();
    macro_rules! push {
        ($($kind:ty),*) => {
            $(if let Some(values) = any.downcast_ref::<$kind>() {
                return values.iter().try_for_each(|value| all.append(value));
            })*
        };
    }
    push!(
        Int64Array,
        UInt32Array,
        UInt64Array,
        Float64Array,
        BooleanArray,
        StringArray
    );
    Err(PyRuntimeError::new_err("a column of another type"))
}
